package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
)

type launchVector struct {
	In struct {
		Fn            string
		Elements      uint32 `json:"element_count"`
		Workgroup     Workgroup
		Grid          [3]uint32
		Mode          string
		Declared      Workgroup
		HasShared     bool       `json:"has_shared_buffer"`
		NonComposable bool       `json:"non_composable_with_self"`
		ReadsGroupIDs bool       `json:"reads_local_or_workgroup_id"`
		OnlyReturns   bool       `json:"entry_only_return"`
		HasAtomic     bool       `json:"program_has_atomic"`
		OwnWorkgroup  *Workgroup `json:"workgroup_override"`
		OwnGrid       *[3]uint32 `json:"grid_override"`
		Bindings      []struct {
			Binding   uint32
			Role      string
			Elements  uint32 `json:"element_count"`
			Alignment uint32 `json:"preferred_alignment"`
		}
		MaxThreads uint32    `json:"max_threads_per_block"`
		MaxBlock   Workgroup `json:"max_block_dim"`
		MaxGrid    [3]uint32 `json:"max_grid_dim"`
	}
	Out json.RawMessage
	Err string
}

var roles = map[string]Role{
	"input": RoleInput, "output": RoleOutput, "input_output": RoleInputOutput,
	"uniform": RoleUniform, "persistent": RolePersistent, "shared": RoleShared,
}

var launchErrors = map[string]error{
	"": nil, "zero_workgroup": ErrZeroAxis, "zero_dimension": ErrZeroAxis, "threads_overflow": ErrThreadsOverflow, "threads_limit": ErrThreads,
	"block_axis_limit": ErrBlockAxis, "grid_axis_limit": ErrGridAxis, "grid_override_required": ErrGridRequired, "element_count_overflow": ErrElements,
}

func (v *launchVector) bindings(t *testing.T) []Binding {
	t.Helper()
	var out []Binding
	for _, b := range v.In.Bindings {
		role, known := roles[b.Role]
		if !known {
			t.Fatalf("role %q", b.Role)
		}
		out = append(out, Binding{Number: b.Binding, Role: role, Elements: b.Elements, Alignment: b.Alignment})
	}
	return out
}

// result is what the function under test returns, in the form of the vector's out.
func (v *launchVector) result(t *testing.T) (any, error) {
	limits := Limits{v.In.MaxThreads, v.In.MaxBlock, v.In.MaxGrid}
	switch v.In.Fn {
	case "infer_dispatch_grid_for_count":
		return InferGrid(v.In.Elements, v.In.Workgroup)
	case "validate_launch_geometry":
		return true, Validate(v.In.Workgroup, v.In.Grid, limits)
	case "element_count_and_params":
		b := v.bindings(t)
		return map[string]any{"dispatch_element_count": Elements(b, v.In.HasAtomic), "param_words": Words(b, v.In.Elements)}, nil
	case "prepare":
		mode, err := ParseMode(v.In.Mode, true)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Prepare(&Program{
			Declared: v.In.Declared, Bindings: v.bindings(t), HasAtomic: v.In.HasAtomic, HasShared: v.In.HasShared, NonComposable: v.In.NonComposable,
			ReadsGroupIDs: v.In.ReadsGroupIDs, OnlyReturns: v.In.OnlyReturns, Limits: limits, Mode: mode, Workgroup: v.In.OwnWorkgroup, Grid: v.In.OwnGrid,
		})
		return map[string]any{
			"element_count": plan.Elements, "workgroup": plan.Workgroup, "grid": plan.Grid, "param_words": plan.Words, "max_binding_alignment": plan.MaxAlignment,
		}, err
	}
	t.Fatalf("fn %q", v.In.Fn)
	return nil, nil
}

func TestLaunchPlanReproducesTheOriginal(t *testing.T) {
	eachVector(t, "launchplan.jsonl.gz", func(t *testing.T, v *launchVector) string {
		got, err := v.result(t)
		if want, known := launchErrors[v.Err]; !known || !errors.Is(err, want) {
			return fmt.Sprintf("error %v", err)
		}
		if err != nil {
			return ""
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := errors.Join(json.Unmarshal(text, &a), json.Unmarshal(v.Out, &b)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			return fmt.Sprintf("got %s", text)
		}
		return ""
	})
}
