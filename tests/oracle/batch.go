package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"
)

type request struct {
	Mode     string  `json:"mode"`
	State    string  `json:"state"`
	Timeline string  `json:"timeline"`
	Config   *string `json:"config"`
	Gates    string  `json:"gates"`
}

type response struct {
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// runBatch answers every line of the input. A case that breaks is answered too.
func runBatch(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(answer(line)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func answer(line []byte) (r response) {
	defer func() {
		if p := recover(); p != nil {
			r = response{Error: fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	panicked = atomic.Value{}
	var q request
	if err := json.Unmarshal(line, &q); err != nil {
		return response{Error: err.Error()}
	}
	var config []byte
	if q.Config != nil {
		config = []byte(*q.Config)
	}
	if q.Mode == "decode" {
		return response{Result: decodeStrictly(q.State)}
	}
	if q.Mode == "gates" {
		return response{Result: refusalOf(q.Gates)}
	}
	restore, err := setGates(q.Gates)
	if err != nil {
		return response{Error: err.Error()}
	}
	defer restore()
	if q.Mode == "config" {
		return response{Result: describeConfig(config)}
	}
	var result any
	if states := [][]byte{[]byte(q.State)}; q.Mode == "replay" {
		result, err = replayTimeline([]byte(q.Timeline), states, config)
	} else {
		result, err = decide(states, config)
	}
	if p := panicked.Load(); p != nil {
		err = fmt.Errorf("panic: %v", p)
	}
	if err != nil {
		return response{Error: err.Error()}
	}
	return response{Result: result}
}
