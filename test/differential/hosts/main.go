// Package main asks containerd's own code for the endpoints of a registry's images, as containerd
// does at each pull.
//
// Arguments: a directory of hosts.toml files, then registries. For each registry, the program prints
// a JSON line with the endpoints that containerd tries, in order.
package main

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/containerd/log"
)

type endpoint struct {
	Address       string `json:"address"`
	Capabilities  int    `json:"capabilities"`
	Authorization string `json:"authorization"`
}

func main() {
	log.L.Logger.SetOutput(io.Discard)
	options := config.HostOptions{HostDir: config.HostDirFromRoot(os.Args[1])}
	find := config.ConfigureHosts(context.Background(), options)
	for _, registry := range os.Args[2:] {
		found, err := find(registry)
		if err != nil {
			write(err.Error())
			continue
		}
		endpoints := []endpoint{}
		for _, host := range found {
			endpoints = append(endpoints, endpointOf(host))
		}
		write(endpoints)
	}
}

func endpointOf(host docker.RegistryHost) endpoint {
	return endpoint{
		Address:       host.Scheme + "://" + host.Host + host.Path,
		Capabilities:  int(host.Capabilities),
		Authorization: host.Header.Get("Authorization"),
	}
}

func write(value any) {
	if err := json.NewEncoder(os.Stdout).Encode(value); err != nil {
		panic(err)
	}
}
