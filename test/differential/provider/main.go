// Package main registers credential providers as a kubelet does at its start, and looks images up
// as a kubelet does before a pull.
//
// Arguments: the configuration (a file or a directory), the directory of the programs, the number
// of simultaneous look-ups, then images. The first output line is the hash of the configuration in
// the kubelet's metric, as JSON. Then there is one JSON line for each look-up: the kubelet's log
// lines, and the credentials that the kubelet tries, in order, with bytes as base64. If a kubelet
// would not start, the program exits with 1 and prints the kubelet's own error.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/credentialprovider/plugin"
	"k8s.io/kubernetes/pkg/util/parsers"
)

type credential struct {
	Username []byte `json:"username"`
	Password []byte `json:"password"`
}

type lookup struct {
	Tries  []credential `json:"tries"`
	Logged string       `json:"logged"`
}

func main() {
	log.SetFlags(0)
	logged := &bytes.Buffer{}
	klog.LogToStderr(false)
	klog.SetOutput(logged)
	if err := plugin.RegisterCredentialProviderPlugins(os.Args[1], os.Args[2], nil, nil); err != nil {
		log.Fatal(err)
	}
	write(configHash())
	atOnce, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	for _, image := range os.Args[4:] {
		name, _, _, err := parsers.ParseImageName(image)
		if err != nil {
			log.Fatal(err)
		}
		lookups := make([]lookup, atOnce)
		begin := make(chan struct{})
		var all sync.WaitGroup
		for at := range lookups {
			all.Go(func() {
				<-begin
				lookups[at].Tries = find(name)
			})
		}
		close(begin)
		all.Wait()
		klog.Flush()
		for _, found := range lookups {
			found.Logged = logged.String()
			write(found)
		}
		logged.Reset()
	}
}

func find(name string) []credential {
	tries := []credential{}
	found, _ := plugin.NewExternalCredentialProviderDockerKeyring("", "", "", "").Lookup(name)
	for _, tried := range found {
		tries = append(tries, credential{[]byte(tried.Username), []byte(tried.Password)})
	}
	return tries
}

// configHash is the label of kubelet_credential_provider_config_info, as /metrics shows it.
func configHash() string {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "kubelet_credential_provider_config_info" {
			return family.GetMetric()[0].GetLabel()[0].GetValue()
		}
	}
	return ""
}

func write(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}
