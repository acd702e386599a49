package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// decoding is what the API's decoder makes of the JSON of one object.
type decoding struct {
	Refused string   `json:"refused,omitempty"` // why it is no object of its kind
	Foreign bool     `json:"foreign,omitempty"` // the API has no such kind
	Strict  []string `json:"strict,omitempty"`  // what --validate=strict refuses beyond that
}

var strictDecoder = json.NewSerializerWithOptions(
	json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Strict: true},
)

func decodeStrictly(text string) decoding {
	_, _, err := strictDecoder.Decode([]byte(text), nil, nil)
	if err == nil {
		return decoding{}
	}
	if runtime.IsNotRegisteredError(err) {
		return decoding{Foreign: true}
	}
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return decoding{Refused: err.Error()}
	}
	var d decoding
	for _, err := range strict.Errors() {
		d.Strict = append(d.Strict, err.Error())
	}
	return d
}
