package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// state is what the API server would hold, in the order of the files.
type state struct {
	nodes  []*v1.Node
	pods   []*v1.Pod
	others []runtime.Object
}

// decoder does what the API server does with an object that arrives: any served version is
// taken, the version's defaults are filled in, and the result is of the version that the
// scheduler's listers use.
var decoder = legacyscheme.Codecs.UniversalDecoder(append(groupVersions,
	v1.SchemeGroupVersion, appsv1.SchemeGroupVersion, storagev1.SchemeGroupVersion,
	policyv1.SchemeGroupVersion, resourceapi.SchemeGroupVersion, schedulingv1.SchemeGroupVersion,
)...)

// clusterScoped are the kinds that get no namespace. The fake client has no discovery to ask.
var clusterScoped = map[string]bool{
	"Node": true, "Namespace": true, "PersistentVolume": true, "StorageClass": true,
	"CSINode": true, "CSIDriver": true, "VolumeAttachment": true, "PriorityClass": true,
	"ResourceSlice": true, "DeviceClass": true,
}

func loadState(texts [][]byte) (*state, error) {
	s := &state{}
	for _, text := range texts {
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			var raw json.RawMessage
			if err := documents.Decode(&raw); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if len(raw) == 0 || string(raw) == "null" {
				continue
			}
			if err := s.add(raw, metav1.TypeMeta{}); err != nil {
				return nil, err
			}
		}
	}
	return s, s.admit()
}

// add takes an object or a list of them. kubectl leaves kind and apiVersion off the items of a
// typed list, so the list's own say what they are.
func (s *state) add(raw []byte, inherited metav1.TypeMeta) error {
	var head struct {
		metav1.TypeMeta
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	if strings.HasSuffix(head.Kind, "List") {
		item := metav1.TypeMeta{}
		if head.Kind != "List" {
			item = metav1.TypeMeta{Kind: strings.TrimSuffix(head.Kind, "List"), APIVersion: head.APIVersion}
		}
		for _, raw := range head.Items {
			if err := s.add(raw, item); err != nil {
				return err
			}
		}
		return nil
	}
	if head.Kind == "" {
		head.TypeMeta = inherited
	}
	kind := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	decoder := decoder
	if own := decoders[kind.Kind]; own != nil {
		decoder = own
	}
	obj, _, err := decoder.Decode(raw, &kind, nil)
	if runtime.IsNotRegisteredError(err) {
		return nil // nothing the scheduler knows
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return s.take(obj)
}

func (s *state) take(obj runtime.Object) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if accessor.GetNamespace() == "" && !clusterScoped[obj.GetObjectKind().GroupVersionKind().Kind] {
		accessor.SetNamespace(metav1.NamespaceDefault)
	}
	// The assume caches compare resource versions as numbers.
	if _, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64); err != nil {
		accessor.SetResourceVersion("1")
	}
	switch obj := obj.(type) {
	case *v1.Node:
		s.nodes = append(s.nodes, obj)
	case *v1.Pod:
		named(obj)
		defaultPodLevel(obj)
		s.pods = append(s.pods, obj)
	case *resourceapi.ResourceClaim:
		named(obj)
		prepareDevices(obj)
		s.others = append(s.others, obj)
	default:
		s.others = append(s.others, obj)
	}
	return nil
}

// named gives an object without a UID one, for the scheduler tells pods and claims apart by it.
func named(obj metav1.Object) {
	if obj.GetUID() == "" {
		obj.SetUID(types.UID(obj.GetNamespace() + "/" + obj.GetName()))
	}
}

func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

func key(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }
