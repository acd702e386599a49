package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// refusal is a configuration that kube-scheduler does not start with, and where it stops.
type refusal struct {
	Stage string `json:"stage"`
	Text  string `json:"error"`
}

func (r *refusal) Error() string { return r.Stage + ": " + r.Text }

// loadConfig does what kube-scheduler --config does; no text is no --config. Its own loader sits
// in a command package that links an API server, so the few calls it makes are made here.
func loadConfig(text []byte) (*config.KubeSchedulerConfiguration, error) {
	if text == nil {
		return latest.Default()
	}
	obj, kind, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, &refusal{"decode", err.Error()}
	}
	cfg, ok := obj.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, &refusal{"decode", fmt.Sprintf("couldn't decode as KubeSchedulerConfiguration, got %s: ", kind)}
	}
	cfg.APIVersion = kind.GroupVersion().String()
	if errs := validation.ValidateKubeSchedulerConfiguration(cfg); errs != nil {
		return nil, &refusal{"validate", inOrder(errs)}
	}
	return cfg, nil
}

// inOrder writes several errors one to a line, sorted: upstream finds them in no fixed order.
func inOrder(errs utilerrors.Aggregate) string {
	var lines []string
	for _, err := range utilerrors.Flatten(errs).Errors() {
		lines = append(lines, err.Error())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// description is what kube-scheduler makes of a configuration, per profile.
type description struct {
	*refusal
	Profiles map[string]map[string][]string        `json:"profiles,omitempty"`
	Weights  map[string]map[string]int32           `json:"weights,omitempty"`
	Args     map[string]map[string]json.RawMessage `json:"args,omitempty"`
}

func describeConfig(text []byte) (d description) {
	stopped := func(err error) description {
		if r, ok := err.(*refusal); ok {
			return description{refusal: r}
		}
		return description{refusal: &refusal{"framework", err.Error()}}
	}
	defer func() {
		if p := recover(); p != nil {
			d = description{refusal: &refusal{"panic", fmt.Sprint(p)}}
		}
	}()
	cfg, err := loadConfig(text)
	if err != nil {
		return stopped(err)
	}
	c, err := newCluster(context.Background(), cfg, nil)
	if err != nil {
		return stopped(err)
	}
	defer c.close()
	d.Profiles = map[string]map[string][]string{}
	d.Weights = map[string]map[string]int32{}
	d.Args = map[string]map[string]json.RawMessage{}
	for name, fw := range c.sched.Profiles {
		d.Profiles[name], d.Weights[name] = points(fw)
	}
	for _, profile := range c.profiles {
		if d.Args[profile.SchedulerName], err = args(profile); err != nil {
			return stopped(err)
		}
	}
	return d
}

func points(fw framework.Framework) (map[string][]string, map[string]int32) {
	plugins, weights := fw.ListPlugins(), map[string]int32{}
	names := map[string][]string{}
	sets := map[string]config.PluginSet{
		"preEnqueue": plugins.PreEnqueue, "queueSort": plugins.QueueSort,
		"preFilter": plugins.PreFilter, "filter": plugins.Filter, "postFilter": plugins.PostFilter,
		"preScore": plugins.PreScore, "score": plugins.Score, "reserve": plugins.Reserve,
		"permit": plugins.Permit, "preBind": plugins.PreBind, "bind": plugins.Bind,
		"postBind": plugins.PostBind,
	}
	addPoints(sets, plugins)
	for point, set := range sets {
		names[point] = []string{}
		for _, plugin := range set.Enabled {
			names[point] = append(names[point], plugin.Name)
			if point == "score" {
				weights[plugin.Name] = plugin.Weight
			}
		}
	}
	return names, weights
}

// args writes the profile's plugin arguments as the configuration's own version spells them.
func args(profile config.KubeSchedulerProfile) (map[string]json.RawMessage, error) {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return nil, fmt.Errorf("no JSON serializer")
	}
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, configv1.SchemeGroupVersion)
	out := map[string]json.RawMessage{}
	for _, plugin := range profile.PluginConfig {
		text, err := runtime.Encode(encoder, plugin.Args)
		if err != nil {
			return nil, err
		}
		out[plugin.Name] = text
	}
	return out, nil
}
