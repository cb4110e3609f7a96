// Package main reports which credentials the kubelet's own code would try.
//
// It reads JSON lines {"file": base64, "images": [...]}, or {"secrets": [base64, ...], "images":
// [...]} for a pod's pull Secrets in their order. The answer to each line is one JSON line: whether
// the file parses, the credentials that the kubelet holds for the file, and a result for each
// image. The result contains whether the image's name parses, the credentials that the kubelet
// tries, in order, and whether this order varied among several keyrings of the same file. Byte
// strings of Go are encoded as base64.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"os"
	"path/filepath"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/credentialprovider"
	"k8s.io/kubernetes/pkg/credentialprovider/secrets"
	"k8s.io/kubernetes/pkg/util/parsers"
)

type question struct {
	File    []byte   `json:"file"`
	Secrets [][]byte `json:"secrets"`
	Images  [][]byte `json:"images"`
}

type credential struct {
	Key      []byte `json:"key,omitempty"`
	Username []byte `json:"username"`
	Password []byte `json:"password"`
}

type lookup struct {
	Valid  bool         `json:"valid"`
	Name   []byte       `json:"name"`
	Tries  []credential `json:"tries"`
	Varies bool         `json:"varies"`
}

// A keyring keeps the order in which it has read the entries of a registry from a map. Go chooses
// the order of each range over a map at random. A range over a small map begins at one of eight
// places, so two neighbours are in reverse order in one keyring of eight. All of 128 keyrings have
// the same order only in one case in 20 million.
const keyrings = 128

type answer struct {
	Parses  bool         `json:"parses"`
	Entries []credential `json:"entries"`
	Lookups []lookup     `json:"lookups"`
}

func main() {
	log.SetFlags(0)
	// Without this the kubelet's code would log every key that it skips.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	// The kubelet's code reads a file in this directory. On tmpfs 10,000 rewrites of the file are
	// cheap.
	directory, err := os.MkdirTemp("/dev/shm", "oracle-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		line, err := json.Marshal(ask(asked, filepath.Join(directory, "config.json")))
		if err != nil {
			log.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func ask(asked question, path string) answer {
	if err := os.WriteFile(path, asked.File, 0o600); err != nil {
		log.Fatal(err)
	}
	config, err := credentialprovider.ReadDockerConfigJSONFile([]string{filepath.Dir(path)})
	result := answer{Parses: err == nil}
	for key, entry := range config {
		result.Entries = append(result.Entries, credential{[]byte(key), []byte(entry.Username), []byte(entry.Password)})
	}
	fill := func() credentialprovider.DockerKeyring { return keyringOf(config) }
	if asked.Secrets != nil {
		fill = func() credentialprovider.DockerKeyring { return keyringOfSecrets(asked.Secrets) }
	}
	for _, image := range asked.Images {
		result.Lookups = append(result.Lookups, find(fill(), string(image)))
	}
	for index, image := range asked.Images {
		first := &result.Lookups[index]
		for again := 1; again < keyrings && len(first.Tries) > 1 && !first.Varies; again++ {
			first.Varies = !reflect.DeepEqual(first.Tries, find(fill(), string(image)).Tries)
		}
	}
	return result
}

func keyringOf(config credentialprovider.DockerConfig) credentialprovider.DockerKeyring {
	keyring := &credentialprovider.BasicDockerKeyring{}
	keyring.Add(nil, config)
	return keyring
}

func keyringOfSecrets(documents [][]byte) credentialprovider.DockerKeyring {
	pulled := []v1.Secret{}
	for _, document := range documents {
		data := map[string][]byte{v1.DockerConfigJsonKey: document}
		pulled = append(pulled, v1.Secret{Type: v1.SecretTypeDockerConfigJson, Data: data})
	}
	keyring, err := secrets.MakeDockerKeyring(pulled, &credentialprovider.BasicDockerKeyring{})
	if err != nil {
		log.Fatal(err)
	}
	return keyring
}

// find does the same as the kubelet's image manager before a pull: it searches the
// keyring for the image's name without tag and digest.
func find(keyring credentialprovider.DockerKeyring, image string) lookup {
	name, _, _, err := parsers.ParseImageName(image)
	if err != nil {
		return lookup{}
	}
	result := lookup{Valid: true, Name: []byte(name)}
	found, _ := keyring.Lookup(name)
	for _, tried := range found {
		result.Tries = append(result.Tries, credential{nil, []byte(tried.Username), []byte(tried.Password)})
	}
	return result
}
