package main

import (
	"bytes"

	"github.com/vmihailenco/msgpack/v5"

	"ringmaster/telemetry"
)

// A yardstick decodes full queue records in array encoding with the msgpack
// library: what telemetry.Decoder is measured against. It checks no ranges and no
// names. It keeps one library decoder, as a careful user of the library does.
type yardstick struct {
	reader  *bytes.Reader
	decoder *msgpack.Decoder
	into    any
}

// newYardstick returns one that decodes by reflection, the library's default,
// or with a custom method of the type, the fastest way it offers.
func newYardstick(useMethod bool) *yardstick {
	y := &yardstick{reader: bytes.NewReader(nil), into: new(reflected)}
	if useMethod {
		y.into = new(custom)
	}
	y.decoder = msgpack.NewDecoder(y.reader)
	return y
}

// decode decodes one record. The error is the library's.
func (y *yardstick) decode(record []byte) error {
	y.reader.Reset(record)
	y.decoder.Reset(y.reader)
	return y.decoder.Decode(y.into)
}

// reflected is a queue record as the msgpack library decodes it by default.
type reflected struct {
	//lint:ignore U1000 the library reads the tag of this field
	_msgpack    struct{} `msgpack:",as_array"`
	Kind        uint8
	Minor       uint32
	Incarnation uint64
	Seq         uint64
	SentNs      int64
	Queue       string
	A, B, C, D  uint32
	E, F, G, H  uint32
	I, J        uint32
	K, L        uint64
}

// custom reads the array encoding with the library's own calls and no reflection.
type custom struct {
	h telemetry.Header
	q telemetry.Queue
}

func (c *custom) DecodeMsgpack(d *msgpack.Decoder) error {
	if _, err := d.DecodeArrayLen(); err != nil {
		return err
	}
	kind, err := d.DecodeUint8()
	if err != nil {
		return err
	}
	c.h.Kind = telemetry.Kind(kind)
	if c.h.Minor, err = d.DecodeUint32(); err != nil {
		return err
	}
	for _, p := range []*uint64{&c.h.Incarnation, &c.h.Seq} {
		if *p, err = d.DecodeUint64(); err != nil {
			return err
		}
	}
	if c.h.SentNs, err = d.DecodeInt64(); err != nil {
		return err
	}
	if c.h.Queue, err = d.DecodeString(); err != nil {
		return err
	}
	q := &c.q
	for _, p := range []*uint32{&q.QueueLen, &q.RequestedWorkerGroups, &q.MaxWorkgroupSizeX, &q.MaxWorkgroupsPerDimension,
		&q.MaxInvocationsPerWorkgroup, &q.RequestedHitCapacity, &q.ExpectedHitsPerItem, &q.HotOpcodeCount, &q.HotWindowCount, &q.MaxPriorityAge} {
		if *p, err = d.DecodeUint32(); err != nil {
			return err
		}
	}
	for _, p := range []*uint64{&q.RequeueCount, &q.ExecutedCount} {
		if *p, err = d.DecodeUint64(); err != nil {
			return err
		}
	}
	return nil
}
