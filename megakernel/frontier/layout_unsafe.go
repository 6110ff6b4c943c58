package frontier

import "unsafe"

// Sizes and byte offsets of what host and device share.
const (
	controlBytes = int(unsafe.Sizeof(controlBlock{}))
	roundBytes   = int(unsafe.Sizeof(roundWords{}))
	totalsBytes  = int(unsafe.Sizeof(totalsBlock{}))
	recordBytes  = int(unsafe.Sizeof(levelRecord{}))

	atPushGroups = int(unsafe.Offsetof(controlBlock{}.job) + unsafe.Offsetof(jobWords{}.pushGroups))
	atRounds     = int(unsafe.Offsetof(controlBlock{}.rounds))
	atDecided    = int(unsafe.Offsetof(roundWords{}.decided))
	atLogged     = int(unsafe.Offsetof(roundWords{}.logged))
	atReached    = int(unsafe.Offsetof(totalsBlock{}.reached))
)
