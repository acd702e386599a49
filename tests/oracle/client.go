package main

import (
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// newClient is a fake API server that, unlike the library's own, numbers the versions of
// resource claims (the assume cache drops what is not newer), refuses an update of an older one,
// and can hold a rehearsal, in which writes are answered and forgotten.
func newClient(objects []runtime.Object, rehearsal *bool) (*fake.Clientset, error) {
	client := fake.NewSimpleClientset()
	for _, obj := range objects {
		if err := client.Tracker().Add(obj); err != nil {
			return nil, err
		}
	}
	client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		obj := action.(clienttesting.UpdateAction).GetObject()
		stored, err := checkVersion(client.Tracker(), action.GetResource(), obj)
		if err != nil || equality.Semantic.DeepEqual(stored, obj) {
			return true, stored, err // the API server writes no version that says nothing new
		}
		return false, nil, nextVersion(obj)
	})
	client.PrependReactor("patch", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		_, obj, err := clienttesting.ObjectReaction(client.Tracker())(action)
		if err != nil {
			return true, nil, err
		}
		if err := nextVersion(obj); err != nil {
			return true, nil, err
		}
		return true, obj, client.Tracker().Update(action.GetResource(), obj, action.GetNamespace())
	})
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if !*rehearsal {
			return false, nil, nil
		}
		switch action := action.(type) {
		case clienttesting.UpdateAction:
			return true, action.GetObject(), nil
		case clienttesting.PatchAction:
			obj, err := client.Tracker().Get(action.GetResource(), action.GetNamespace(), action.GetName())
			return true, obj, err
		case clienttesting.DeleteAction:
			return true, nil, nil
		}
		return false, nil, nil
	})
	return client, nil
}

// checkVersion refuses what was made of an older version than the one there is.
func checkVersion(tracker clienttesting.ObjectTracker, resource schema.GroupVersionResource, obj runtime.Object) (runtime.Object, error) {
	updated, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	stored, err := tracker.Get(resource, updated.GetNamespace(), updated.GetName())
	if err != nil {
		return nil, err
	}
	current, err := meta.Accessor(stored)
	if err != nil {
		return nil, err
	}
	if current.GetResourceVersion() != updated.GetResourceVersion() {
		return nil, apierrors.NewConflict(resource.GroupResource(), updated.GetName(), errors.New(modified))
	}
	return stored, nil
}

// modified is what the API server says of an older version.
const modified = "the object has been modified; please apply your changes to the latest version and try again"

func nextVersion(obj runtime.Object) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	version, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		return err
	}
	accessor.SetResourceVersion(strconv.FormatInt(version+1, 10))
	return nil
}
