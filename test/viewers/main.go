// Package main judges objects with the code that viewers use: Flux and kubectl-apply tools use
// kstatus, Argo CD runs a Lua script in gopher-lua.
//
// The program's argument is the path of the Lua script. The program reads one object in JSON per
// line, and answers each object with one line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type answer struct {
	Kstatus string `json:"kstatus"`
	Health  string `json:"health"`
	Message string `json:"message"`
}

func main() {
	script, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		// UnmarshalJSON reads numbers as int64 and float64, like both tools.
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(lines.Bytes()); err != nil {
			log.Fatal(err)
		}
		said, err := judge(object, string(script))
		if err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(said); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func judge(object *unstructured.Unstructured, script string) (answer, error) {
	computed, err := status.Compute(object)
	if err != nil {
		return answer{}, err
	}
	health, message, err := healthOf(object, script)
	return answer{Kstatus: computed.Status.String(), Health: health, Message: message}, err
}

// healthOf runs the script as Argo CD runs a script of argocd-cm: with only the libraries base,
// package and table, with a limit of one second, and with the object as the global obj. The script
// returns a table with status and message.
func healthOf(object *unstructured.Unstructured, script string) (string, string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage,
		lua.BaseLibName: lua.OpenBase,
		lua.TabLibName:  lua.OpenTable,
	} {
		call := lua.P{Fn: state.NewFunction(open), Protect: true}
		if err := state.CallByParam(call, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("the script returned %s, not a table", state.Get(-1).Type())
	}
	return field(result, "status"), field(result, "message"), nil
}

func field(table *lua.LTable, name string) string {
	return lua.LVAsString(table.RawGetString(name))
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case []any:
		table := state.CreateTable(len(value), 0)
		for _, item := range value {
			table.Append(toLua(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for key, item := range value {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	}
	return lua.LNil
}
