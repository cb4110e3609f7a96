// Command k3s has the shape of `k3s agent`: one process that runs the kubelet's own code, and
// containerd as its child, which dies with it. Arguments: the kubelet's flags.
package main

import (
	"context"
	"log"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	cri "k8s.io/cri-client/pkg"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

const socket = "/run/containerd/containerd.sock"

// runContainerd returns when containerd has ended.
func runContainerd() error {
	// The kernel sends Pdeathsig when the thread ends that started the child.
	runtime.LockOSThread()
	child := exec.Command("containerd")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return child.Run()
}

func main() {
	os.Remove(socket)
	go func() { log.Fatalf("containerd ended: %v", runContainerd()) }()
	// As k3s does: a kubelet ends if containerd is not ready when it starts.
	for {
		_, err := cri.NewRemoteRuntimeService(context.Background(), "unix://"+socket, time.Second,
			noop.NewTracerProvider(), false)
		if err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
}
