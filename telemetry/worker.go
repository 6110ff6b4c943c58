package telemetry

// Worker announces a worker and its device.
type Worker struct {
	Has Presence

	MaxWorkgroupSizeX          uint32
	MaxWorkgroupsPerDimension  uint32
	MaxInvocationsPerWorkgroup uint32
	SubgroupSize               uint32 // 0 if unknown
	Vendor                     string // at most 256 bytes each
	Renderer                   string
	Driver                     string
	DeviceUUID                 string
	MemoryBudgetBytes          uint64   // 0 means no budget
	Capabilities               []string // at most 32, at most 64 bytes each
	Opcodes                    []Opcode // the operator's own, at most MaxUserOpcodes
	Units                      uint32   // of the device that run workgroups independently of each other, 0 if unknown
	UnitLanes                  uint32   // invocations that a unit holds at once, 0 if unknown
	LeaseSlots                 uint32   // most slots of a launch that a kernel which stays on the device takes, 0 if there is none
}

// Opcode is an opcode that an operator added to the built-in ones.
type Opcode struct {
	ID   uint32
	Name string // at most 64 bytes
}

// Presence bits of Worker, in schema order.
const (
	HasWorkerMaxWorkgroupSizeX Presence = 1 << iota
	HasWorkerMaxWorkgroupsPerDimension
	HasWorkerMaxInvocationsPerWorkgroup
	HasSubgroupSize
	HasVendor
	HasRenderer
	HasDriver
	HasDeviceUUID
	HasMemoryBudgetBytes
	HasCapabilities
	HasOpcodes
	HasUnits
	HasUnitLanes
	HasLeaseSlots
	endWorker
)

// HasAllWorker are the presence bits of all fields.
const HasAllWorker = endWorker - 1

var workerSchema = newSchema(KindWorker, func(w *Worker) *Presence { return &w.Has },
	u32("max_workgroup_size_x", gauge, "invocations", func(w *Worker) *uint32 { return &w.MaxWorkgroupSizeX }).from(1),
	u32("max_compute_workgroups_per_dimension", gauge, "workgroups", func(w *Worker) *uint32 { return &w.MaxWorkgroupsPerDimension }).from(1),
	u32("max_compute_invocations_per_workgroup", gauge, "invocations", func(w *Worker) *uint32 { return &w.MaxInvocationsPerWorkgroup }).from(1),
	u32("subgroup_size", gauge, "invocations", func(w *Worker) *uint32 { return &w.SubgroupSize }),
	text("vendor", gauge, func(w *Worker) any { return &w.Vendor }),
	text("renderer", gauge, func(w *Worker) any { return &w.Renderer }),
	text("driver", gauge, func(w *Worker) any { return &w.Driver }),
	text("device_uuid", gauge, func(w *Worker) any { return &w.DeviceUUID }),
	u64("device_memory_budget_bytes", gauge, "bytes", func(w *Worker) *uint64 { return &w.MemoryBudgetBytes }),
	list[Worker]("capabilities", gauge, typeTexts, "-", 0, MaxCapabilities, func(w *Worker) any { return &w.Capabilities }),
	list[Worker]("opcodes", gauge, typeOpcodes, "-", 0, MaxUserOpcodes, func(w *Worker) any { return &w.Opcodes }),
	u32("units", gauge, "units", func(w *Worker) *uint32 { return &w.Units }).to(MaxUnits),
	u32("unit_lanes", gauge, "invocations", func(w *Worker) *uint32 { return &w.UnitLanes }).to(MaxUnits),
	u32("lease_slots", gauge, "slots", func(w *Worker) *uint32 { return &w.LeaseSlots }).to(MaxBatchSlots),
)

func (w *Worker) rows() rows { return workerSchema }
