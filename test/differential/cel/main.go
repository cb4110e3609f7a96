// Creates the YAML objects of stdin as the API server of a version, named by the argument, would:
// decodes and validates them, but stores nothing. Prints each refusal as a line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
)

type refusal struct {
	Object  string `json:"object"`
	Problem string `json:"problem"`
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	// An API server accepts in new expressions what also the version before it knows, so that it can
	// be rolled back. Everything that it compiles for validation follows from this version.
	effective := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	before := version.MustParse(os.Args[1]).SubtractMinor(1)
	effective.(basecompatibility.MutableEffectiveVersion).SetMinCompatibilityVersion(before)

	install.Install(legacyscheme.Scheme)
	strategies := map[string]rest.RESTCreateStrategy{
		"ValidatingAdmissionPolicy": validatingadmissionpolicy.NewStrategy(nil, nil),
		"CustomResourceDefinition":  customresourcedefinition.NewStrategy(legacyscheme.Scheme),
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	output := json.NewEncoder(os.Stdout)
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		object, kind, err := legacyscheme.Codecs.UniversalDecoder().Decode(must(document, err), nil, nil)
		must(object, err)
		strategy := strategies[kind.Kind]
		strategy.PrepareForCreate(context.Background(), object)
		for _, problem := range strategy.Validate(context.Background(), object) {
			name := must(meta.Accessor(object)).GetName()
			must(0, output.Encode(refusal{kind.Kind + "/" + name, problem.Error()}))
		}
	}
}
