// Rewrites the kubelet's flags below a directory as `kubeadm upgrade node` does, with kubeadm's own
// code: reads and parses them, and writes them again without the named flags.
package main

import (
	"os"
	"path/filepath"
	"slices"

	"k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/constants"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/kubelet"
	"k8s.io/kubernetes/cmd/kubeadm/app/util"
)

func main() {
	directory, unwanted := os.Args[1], os.Args[2:]
	command, err := kubelet.ReadKubeletDynamicEnvFile(filepath.Join(directory, constants.KubeletEnvFileName))
	if err != nil {
		panic(err)
	}
	args := slices.DeleteFunc(util.ArgumentsFromCommand(command), func(arg kubeadm.Arg) bool {
		return slices.Contains(unwanted, arg.Name)
	})
	if err := kubelet.WriteKubeletArgsToFile(args, nil, directory); err != nil {
		panic(err)
	}
}
