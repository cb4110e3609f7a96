// Package main registers credential providers as a kubelet does at its start, and looks images up as it does before
// a pull.
//
// Arguments: the configuration (a file or a directory), the directory of the programs, then images. It prints one JSON
// line for each image: the credentials that the kubelet tries, in order, bytes as base64. It exits with 1, and the
// kubelet's own complaint, where a kubelet would not start.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/credentialprovider/plugin"
	"k8s.io/kubernetes/pkg/util/parsers"
)

type credential struct {
	Username []byte `json:"username"`
	Password []byte `json:"password"`
}

func main() {
	log.SetFlags(0)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := plugin.RegisterCredentialProviderPlugins(os.Args[1], os.Args[2], nil, nil); err != nil {
		log.Fatal(err)
	}
	keyring := plugin.NewExternalCredentialProviderDockerKeyring("", "", "", "")
	for _, image := range os.Args[3:] {
		name, _, _, err := parsers.ParseImageName(image)
		if err != nil {
			log.Fatal(err)
		}
		tries := []credential{}
		found, _ := keyring.Lookup(name)
		for _, tried := range found {
			tries = append(tries, credential{[]byte(tried.Username), []byte(tried.Password)})
		}
		line, err := json.Marshal(tries)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(line))
	}
}
