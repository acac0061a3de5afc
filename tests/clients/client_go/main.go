// Command client_go plays a controller's day with client-go: discovery, shared informers that begin with a watch list,
// server-side apply, status, optimistic locking, finalizers, a scale and a leader election. It prints one line for each
// fact, which the test compares, and exits with 1 where something does not hold.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

const namespace = "default"

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	config.QPS = -1
	config.ContentType = "application/json" // the typed client writes protobuf otherwise, which the server refuses
	typed := kubernetes.NewForConfigOrDie(config)
	loose := dynamic.NewForConfigOrDie(config)
	discover(typed.Discovery())
	seen := newJournal()
	defer follow(ctx, typed, loose, seen)()
	configMaps(ctx, typed, seen)
	customResources(ctx, loose, seen)
	lease(ctx, typed)
}

func discover(client discovery.DiscoveryInterface) {
	version, err := client.ServerVersion()
	check(err)
	fmt.Println("server", version.Major+"."+version.Minor)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Widget"})
	check(err)
	fmt.Println("mapped", mapping.Resource.Resource, mapping.Scope.Name())
}

// follow starts the informers, waits until they are in step, and gives the way to end them.
func follow(ctx context.Context, typed kubernetes.Interface, loose dynamic.Interface, seen *journal) func() {
	ctx, cancel := context.WithCancel(ctx)
	built := informers.NewSharedInformerFactory(typed, 0)
	custom := dynamicinformer.NewDynamicSharedInformerFactory(loose, 0)
	for _, informer := range []cache.SharedIndexInformer{
		built.Core().V1().ConfigMaps().Informer(),
		custom.ForResource(widgets).Informer(),
	} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(obj any, initial bool) {
				if initial {
					seen.note("initial", obj)
				} else {
					seen.note("added", obj)
				}
			},
			UpdateFunc: func(_, obj any) { seen.note("updated", obj) },
			DeleteFunc: func(obj any) { seen.note("deleted", obj) },
		})
		check(err)
	}
	built.Start(ctx.Done())
	custom.Start(ctx.Done())
	for kind, isSynced := range built.WaitForCacheSync(ctx.Done()) {
		fmt.Println("synced", kind.Elem().Name(), isSynced)
	}
	for resource, isSynced := range custom.WaitForCacheSync(ctx.Done()) {
		fmt.Println("synced", resource.Resource, isSynced)
	}
	return func() {
		cancel()
		built.Shutdown()
		custom.Shutdown()
	}
}

func configMaps(ctx context.Context, typed kubernetes.Interface, seen *journal) {
	client := typed.CoreV1().ConfigMaps(namespace)
	seen.await("initial ConfigMap early")
	made, err := client.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "made-", Labels: map[string]string{"a": "b"}},
	}, metav1.CreateOptions{})
	check(err)
	seen.await("added ConfigMap " + made.Name)
	stale := made.DeepCopy()
	made.Data = map[string]string{"k": "v"}
	made, err = client.Update(ctx, made, metav1.UpdateOptions{})
	check(err)
	seen.await("updated ConfigMap " + made.Name)
	_, err = client.Update(ctx, stale, metav1.UpdateOptions{})
	fmt.Println("stale update is a conflict", apierrors.IsConflict(err))
	check(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		fresh, err := client.Get(ctx, stale.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		fresh.Data["k"] = "w"
		_, err = client.Update(ctx, fresh, metav1.UpdateOptions{})
		return err
	}))

	wanted := applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"k": "mine"})
	applied, err := client.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "one"})
	check(err)
	seen.await("added ConfigMap applied")
	extracted, err := applycorev1.ExtractConfigMap(applied, "one")
	check(err)
	fmt.Println("extracted", text(extracted.Data))
	other := applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"k": "theirs"})
	_, err = client.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two"})
	fmt.Println("apply of a field of another is a conflict", apierrors.IsConflict(err))
	applied, err = client.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two", Force: true})
	check(err)
	fmt.Println("forced", text(applied.Data))

	_, err = client.Patch(ctx, "applied", types.StrategicMergePatchType, []byte(`{"data":{"k":null,"l":"2"}}`), metav1.PatchOptions{})
	check(err)
	_, err = client.Patch(ctx, "applied", types.JSONPatchType, []byte(`[{"op":"test","path":"/data/l","value":"3"}]`), metav1.PatchOptions{})
	fmt.Println("failed test of a JSON patch is invalid", apierrors.IsInvalid(err))
	check(client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a=b"}))
	seen.await("deleted ConfigMap " + made.Name)
	check(client.Delete(ctx, "applied", metav1.DeleteOptions{}))
	seen.await("deleted ConfigMap applied")
	_, err = client.Get(ctx, "applied", metav1.GetOptions{})
	fmt.Println("deleted is not found", apierrors.IsNotFound(err))

	_, err = typed.AppsV1().Deployments(namespace).UpdateScale(ctx, "web", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
		Spec:       autoscalingv1.ScaleSpec{Replicas: 3},
	}, metav1.UpdateOptions{})
	check(err)
	deployment, err := typed.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
	check(err)
	fmt.Println("scaled", *deployment.Spec.Replicas, deployment.Generation)
}

func customResources(ctx context.Context, loose dynamic.Interface, seen *journal) {
	client := loose.Resource(widgets).Namespace(namespace)
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1",
		"kind":       "Widget",
		"metadata":   map[string]any{"name": "w", "finalizers": []any{"example.com/mine"}},
		"spec":       map[string]any{"size": int64(1)},
		"status":     map[string]any{"phase": "ignored"},
	}}
	widget, err := client.Create(ctx, widget, metav1.CreateOptions{})
	check(err)
	seen.await("added Widget w")
	_, found, _ := unstructured.NestedMap(widget.Object, "status")
	fmt.Println("a new object has a status", found)
	_, err = client.Create(ctx, widget.DeepCopy(), metav1.CreateOptions{})
	fmt.Println("create with a version fails", err != nil)
	check(unstructured.SetNestedField(widget.Object, "Ready", "status", "phase"))
	widget, err = client.UpdateStatus(ctx, widget, metav1.UpdateOptions{})
	check(err)
	fmt.Println("status", text(widget.Object["status"]), "generation", widget.GetGeneration())
	check(unstructured.SetNestedField(widget.Object, "big", "spec", "size"))
	_, err = client.Update(ctx, widget, metav1.UpdateOptions{})
	fmt.Println("what breaks the schema is invalid", apierrors.IsInvalid(err))

	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1",
		"kind":       "Widget",
		"metadata":   map[string]any{"name": "w"},
		"spec":       map[string]any{"size": int64(2)},
	}}
	widget, err = client.Apply(ctx, "w", wanted, metav1.ApplyOptions{FieldManager: "one", Force: true})
	check(err)
	size, _, err := unstructured.NestedInt64(widget.Object, "spec", "size")
	check(err)
	fmt.Println("applied size", size, "generation", widget.GetGeneration())

	foreground := metav1.DeletePropagationForeground
	check(client.Delete(ctx, "w", metav1.DeleteOptions{PropagationPolicy: &foreground}))
	deleting, err := client.Get(ctx, "w", metav1.GetOptions{})
	check(err)
	fmt.Println("deletion waits", deleting.GetDeletionTimestamp() != nil)
	_, err = client.Patch(ctx, "w", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	check(err)
	seen.await("deleted Widget w")
}

// lease lets two candidates elect one leader, and the other follow it.
func lease(ctx context.Context, typed kubernetes.Interface) {
	for _, name := range []string{"first", "second"} {
		ctx, cancel := context.WithCancel(ctx)
		lock := &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "lead", Namespace: namespace},
			Client:     typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock:            lock,
			ReleaseOnCancel: true,
			LeaseDuration:   2 * time.Second,
			RenewDeadline:   time.Second,
			RetryPeriod:     100 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					fmt.Println("leads", name)
					cancel()
				},
				OnStoppedLeading: func() {},
			},
		})
		cancel()
	}
}

// journal holds what the informers have told, and can be waited on.
type journal struct {
	mutex   sync.Mutex
	changed *sync.Cond
	lines   map[string]int
}

func newJournal() *journal {
	j := &journal{lines: map[string]int{}}
	j.changed = sync.NewCond(&j.mutex)
	return j
}

func (j *journal) note(what string, obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	kind := "ConfigMap"
	if loose, ok := obj.(*unstructured.Unstructured); ok {
		kind = loose.GetKind()
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.lines[fmt.Sprintf("%s %s %s", what, kind, obj.(metav1.Object).GetName())]++
	j.changed.Broadcast()
}

func (j *journal) await(line string) {
	alarm := time.AfterFunc(10*time.Second, func() { check(fmt.Errorf("no informer told %q; told was %v", line, j.lines)) })
	defer alarm.Stop()
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for j.lines[line] == 0 {
		j.changed.Wait()
	}
	delete(j.lines, line)
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	check(err)
	return string(encoded)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
