package gpu

// TimeSource says which clock measured a launch.
type TimeSource uint8

// Time sources.
const (
	TimeNone   TimeSource = iota // nothing ran
	TimeDevice                   // the device's clock, by timestamp queries
	TimeFinish                   // host clock from dispatch until its end was seen
)

func (t TimeSource) String() string {
	switch t {
	case TimeDevice:
		return "device"
	case TimeFinish:
		return "finish"
	}
	return "none"
}

// minDeviceNs is the shortest elapsed-time reading that is believed. Software
// rasterisers answer 0 or 1 for compute work, and no dispatch takes less.
const minDeviceNs = 1000

// Elapsed picks the time of a dispatch: the driver's reading if it is
// plausible, which is above minDeviceNs and not more than the host measured
// around it, else what the host measured.
func Elapsed(deviceNs, finishNs uint64) (uint64, TimeSource) {
	if deviceNs > minDeviceNs && deviceNs <= finishNs {
		return deviceNs, TimeDevice
	}
	return finishNs, TimeFinish
}
