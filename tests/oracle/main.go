// The oracle says what kube-scheduler itself decides: it links the scheduler's own packages and
// asks them. README.md beside this file tells how to build and use it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `oracle run    --state FILE [--state FILE] [--config FILE]   what kube-scheduler decides, as expected.json
oracle run    --batch                                        the same for every line of standard input
oracle replay --timeline FILE --state FILE [--config FILE]   what its queue does along a timeline
oracle config FILE                                           what kube-scheduler makes of a configuration
oracle bench  --state FILE [--config FILE] [--percentage N]  pods per second

A line of a batch is {"state": TEXT, "config": TEXT}, the same with "mode": "replay" and a timeline,
{"mode": "config", "config": TEXT} or {"mode": "decode", "state": the JSON of one object}; the answer is a
line {"result": …} or {"error": …}.
`

// paths collects a flag that may be given more than once.
type paths []string

func (p *paths) String() string     { return fmt.Sprint(*p) }
func (p *paths) Set(v string) error { *p = append(*p, v); return nil }

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	quieten()
	if err := command(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func command(name string, args []string) error {
	var states paths
	flags := flag.NewFlagSet("oracle "+name, flag.ExitOnError)
	flags.Var(&states, "state", "cluster state, YAML or JSON, - for standard input; repeatable")
	configFile := flags.String("config", "", "KubeSchedulerConfiguration; the default one unless given")
	timelineFile := flags.String("timeline", "", "what happens, and when")
	batch := flags.Bool("batch", false, "answer every line of standard input")
	percentage := flags.Int("percentage", -1, "percentageOfNodesToScore in place of the configuration's")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case name == "run" && *batch:
		return runBatch(os.Stdin, os.Stdout)
	case name == "config" && flags.NArg() == 1:
		text, err := read(flags.Arg(0))
		if err != nil {
			return err
		}
		return print(describeConfig(text))
	case (name == "run" || name == "bench") && len(states) > 0 || name == "replay" && *timelineFile != "":
		return ofFiles(name, *timelineFile, states, *configFile, int32(*percentage))
	}
	return fmt.Errorf("usage:\n%s", usage)
}

func ofFiles(name, timelineFile string, states []string, configFile string, percentage int32) error {
	var texts [][]byte
	for _, path := range states {
		text, err := read(path)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	var config []byte
	if configFile != "" {
		text, err := read(configFile)
		if err != nil {
			return err
		}
		config = text
	}
	if name == "bench" {
		result, err := bench(texts, config, percentage)
		if err != nil {
			return err
		}
		return print(result)
	}
	if name == "replay" {
		timeline, err := read(timelineFile)
		if err != nil {
			return err
		}
		result, err := replayTimeline(timeline, texts, config)
		if err != nil {
			return err
		}
		return print(result)
	}
	result, err := decide(texts, config)
	if err != nil {
		return err
	}
	return print(result)
}

func read(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(path)
}

func print(v any) error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
