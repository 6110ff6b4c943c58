package actors

import (
	"reflect"
	"slices"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// A field that a publisher sends either reaches the decision or is counted in the cell.
func TestEveryFieldOfARecordReachesTheRequest(t *testing.T) {
	counted := []string{
		"RequeueCount", "ExecutedCount", // Queue: differences are summed in the cell
		"HitCount", "RequeuedHitCount", // Graph: differences are summed in the cell
		"TakeOver", // says whose records count
	}
	var empty view
	d := deviceView{limits: policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 1024, MaxInvocationsPerWorkgroup: 1024}}
	without := requestOf(&empty, &d)
	for _, record := range []any{&telemetry.Queue{}, &telemetry.Graph{}} {
		fields := reflect.ValueOf(record).Elem()
		for i := 1; i < fields.NumField(); i++ {
			name := fields.Type().Field(i).Name
			if name == "TakeOver" { // an event about the publisher
				continue
			}
			fields.SetZero()
			fields.Field(0).SetUint(1 << (i - 1)) // Has
			if f := fields.Field(i); f.Kind() == reflect.Bool {
				f.SetBool(true)
			} else {
				f.SetUint(7)
			}
			var v view
			switch r := record.(type) {
			case *telemetry.Queue:
				v.queue = *r
			case *telemetry.Graph:
				v.graph = *r
			}
			if reaches := requestOf(&v, &d) != without; reaches == slices.Contains(counted, name) {
				t.Errorf("%v.%s reaches the request: %t", fields.Type(), name, reaches)
			}
		}
	}
}
