package fpm

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

// The messages below are in the order and of the types of the classes ForwardPassMetrics
// of SGLang (48ccb9a) and of serialize_fpm_into of Dynamo (0b05537). They were encoded by
// msgpack 1.0.3 for Python, which like msgspec and rmp-serde writes maps with string keys,
// integers as short as they go, and floats in eight bytes. No engine has run here.
var sglangBusy = unhex("85a9776f726b65725f6964ae31302e302e302e373a3330303030a764705f72616e6b01a977616c6c5f74696d65cb3f9ff2e4" +
	"8e8a71deb27363686564756c65645f726571756573747387b46e756d5f70726566696c6c5f726571756573747302b273756d" +
	"5f70726566696c6c5f746f6b656e73cd1000b27661725f70726566696c6c5f6c656e677468cb4130000000000000b573756d" +
	"5f70726566696c6c5f6b765f746f6b656e73cd0200b36e756d5f6465636f64655f726571756573747311b473756d5f646563" +
	"6f64655f6b765f746f6b656e73ce00011170b47661725f6465636f64655f6b765f746f6b656e73cb4029000000000000af71" +
	"75657565645f726571756573747386b46e756d5f70726566696c6c5f7265717565737473cd012cb273756d5f70726566696c" +
	"6c5f746f6b656e73ce0012c000b27661725f70726566696c6c5f6c656e677468cb4002000000000000b36e756d5f6465636f" +
	"64655f726571756573747303b473756d5f6465636f64655f6b765f746f6b656e73cd2328b47661725f6465636f64655f6b76" +
	"5f746f6b656e73cb0000000000000000")

var sglangHeartbeat = unhex("85a9776f726b65725f6964ae31302e302e302e373a3330303030a764705f72616e6b01a977616c6c5f74696d65cb00000000" +
	"00000000b27363686564756c65645f726571756573747387b46e756d5f70726566696c6c5f726571756573747300b273756d" +
	"5f70726566696c6c5f746f6b656e7300b27661725f70726566696c6c5f6c656e677468cb0000000000000000b573756d5f70" +
	"726566696c6c5f6b765f746f6b656e7300b36e756d5f6465636f64655f726571756573747300b473756d5f6465636f64655f" +
	"6b765f746f6b656e7300b47661725f6465636f64655f6b765f746f6b656e73cb0000000000000000af7175657565645f7265" +
	"71756573747386b46e756d5f70726566696c6c5f726571756573747300b273756d5f70726566696c6c5f746f6b656e7300b2" +
	"7661725f70726566696c6c5f6c656e677468cb0000000000000000b36e756d5f6465636f64655f726571756573747300b473" +
	"756d5f6465636f64655f6b765f746f6b656e7300b47661725f6465636f64655f6b765f746f6b656e73cb0000000000000000")

var dynamoBusy = unhex("87a776657273696f6e01a9776f726b65725f6964aa37353837383934343132a764705f72616e6b00aa636f756e7465725f69" +
	"6429a977616c6c5f74696d65cb3f926e978d4fdf3bb27363686564756c65645f726571756573747387b46e756d5f70726566" +
	"696c6c5f726571756573747300b273756d5f70726566696c6c5f746f6b656e7300b27661725f70726566696c6c5f6c656e67" +
	"7468cb0000000000000000b573756d5f70726566696c6c5f6b765f746f6b656e7300b36e756d5f6465636f64655f72657175" +
	"6573747320b473756d5f6465636f64655f6b765f746f6b656e73ce00020000b47661725f6465636f64655f6b765f746f6b65" +
	"6e73cb4059000000000000af7175657565645f726571756573747386b46e756d5f70726566696c6c5f726571756573747305" +
	"b273756d5f70726566696c6c5f746f6b656e73cd5000b27661725f70726566696c6c5f6c656e677468cb0000000000000000" +
	"b36e756d5f6465636f64655f726571756573747300b473756d5f6465636f64655f6b765f746f6b656e7300b47661725f6465" +
	"636f64655f6b765f746f6b656e73cb0000000000000000")

var dynamoHeartbeat = unhex("87a776657273696f6e01a9776f726b65725f6964aa37353837383934343132a764705f72616e6b00aa636f756e7465725f69" +
	"642aa977616c6c5f74696d65cb0000000000000000b27363686564756c65645f726571756573747387b46e756d5f70726566" +
	"696c6c5f726571756573747300b273756d5f70726566696c6c5f746f6b656e7300b27661725f70726566696c6c5f6c656e67" +
	"7468cb0000000000000000b573756d5f70726566696c6c5f6b765f746f6b656e7300b36e756d5f6465636f64655f72657175" +
	"6573747300b473756d5f6465636f64655f6b765f746f6b656e7300b47661725f6465636f64655f6b765f746f6b656e73cb00" +
	"00000000000000af7175657565645f726571756573747386b46e756d5f70726566696c6c5f726571756573747300b273756d" +
	"5f70726566696c6c5f746f6b656e7300b27661725f70726566696c6c5f6c656e677468cb0000000000000000b36e756d5f64" +
	"65636f64655f726571756573747300b473756d5f6465636f64655f6b765f746f6b656e7300b47661725f6465636f64655f6b" +
	"765f746f6b656e73cb0000000000000000")

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// message are the frames of a message.
func message(number uint64, payload []byte) [][]byte {
	return [][]byte{nil, binary.BigEndian.AppendUint64(nil, number), payload}
}

func TestMessagesOfBothPublishersAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		payload []byte
		want    Metrics
	}{
		"SGLang":            {sglangBusy, Metrics{"10.0.0.7:30000", 1, 0.0312, Requests{2, 17}, Requests{300, 3}}},
		"SGLang, heartbeat": {sglangHeartbeat, Metrics{WorkerID: "10.0.0.7:30000", Rank: 1}},
		"Dynamo":            {dynamoBusy, Metrics{"7587894412", 0, 0.018, Requests{0, 32}, Requests{5, 0}}},
		"Dynamo, heartbeat": {dynamoHeartbeat, Metrics{WorkerID: "7587894412"}},
	} {
		if got, err := Decode(c.payload); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A heartbeat says nothing of a queue, least of all that it is empty: not at the
// beginning, not behind a full queue, not behind an empty one.
func TestHeartbeatIsUnknownNeverEmpty(t *testing.T) {
	var s Stream
	for i, c := range []struct {
		payload []byte
		known   bool
	}{{sglangHeartbeat, false}, {sglangBusy, true}, {sglangHeartbeat, false}, {sglangHeartbeat, false}, {sglangBusy, true}} {
		m, err := s.Take(message(uint64(i), c.payload))
		if err != nil || (m != nil) != c.known {
			t.Errorf("message %d: %+v, %v", i, m, err)
		}
	}
	if want := (Counts{Iterations: 2, Heartbeats: 3}); s.Counts != want {
		t.Errorf("%+v", s.Counts)
	}
}

func TestGapsAndRestartsAreCounted(t *testing.T) {
	var s Stream
	for _, c := range []struct {
		number  uint64
		payload []byte
		want    Counts
	}{
		{700, sglangBusy, Counts{Iterations: 1}}, // what came before the subscription was not lost
		{701, sglangBusy, Counts{Iterations: 2}},
		{705, sglangBusy, Counts{Iterations: 3, Lost: 3}},
		{0, sglangBusy, Counts{Iterations: 4, Lost: 3, Restarts: 1}},
		{1, sglangHeartbeat, Counts{Iterations: 4, Heartbeats: 1, Lost: 3, Restarts: 1}},
		{2, dynamoBusy, Counts{Iterations: 5, Heartbeats: 1, Lost: 3, Restarts: 2}}, // another publisher behind the same address
		{2, dynamoBusy, Counts{Iterations: 6, Heartbeats: 1, Lost: 3, Restarts: 3}},
		{1<<64 - 1, dynamoBusy, Counts{Iterations: 7, Heartbeats: 1, Lost: 3 + 1<<64 - 1 - 3, Restarts: 3}},
	} {
		if _, err := s.Take(message(c.number, c.payload)); err != nil || s.Counts != c.want {
			t.Errorf("message %d: %+v, want %+v; %v", c.number, s.Counts, c.want, err)
		}
	}
}

func TestRefusedMessagesLeaveTheStreamAsItWas(t *testing.T) {
	var s Stream
	replaced := func(old, with string) []byte {
		return []byte(strings.Replace(string(dynamoBusy), old, with, 1))
	}
	_, _ = s.Take(message(5, dynamoBusy))
	for name, frames := range map[string][][]byte{
		"two frames":           message(6, dynamoBusy)[1:],
		"a short number":       {nil, {1}, dynamoBusy},
		"empty":                message(6, nil),
		"a list":               message(6, []byte{0x90}),
		"cut":                  message(6, dynamoBusy[:len(dynamoBusy)-1]),
		"more behind it":       message(6, append(dynamoBusy[:len(dynamoBusy):len(dynamoBusy)], 0)),
		"version 2":            message(6, replaced("version\x01", "version\x02")),
		"a key is missing":     message(6, replaced("dp_rank", "dp_tank")),
		"negative count":       message(6, replaced("num_prefill_requests\x05", "num_prefill_requests\xff")),
		"a count that is text": message(6, replaced("num_prefill_requests\x05", "num_prefill_requests\xa0")),
		"negative time":        message(6, replaced("wall_time\xcb\x3f", "wall_time\xcb\xbf")),
		"time that is none":    message(6, replaced("wall_time\xcb\x3f\x92", "wall_time\xcb\x7f\xf8")),
		"time without end":     message(6, replaced("wall_time\xcb\x3f\x92", "wall_time\xcb\x7f\xe0")),
	} {
		before := s.Counts
		before.Refused++
		if m, err := s.Take(frames); err == nil || m != nil || s.Counts != before || s.last != 5 {
			t.Errorf("%s: %+v, %v, %+v", name, m, err, s)
		}
	}
}

func TestUnknownKeysAreSteppedOver(t *testing.T) {
	more := append([]byte{}, dynamoBusy...)
	more[0]++
	more = append(more, "\xa1x\x93\xc0\x81\xa1y\xcb\x00\x00\x00\x00\x00\x00\x00\x00\xc4\x02ab"...)
	if m, err := Decode(more); err != nil || m.Queued.Prefill != 5 {
		t.Errorf("%+v, %v", m, err)
	}
	twice := append([]byte{}, dynamoBusy...)
	twice[0]++
	twice = append(twice, "\xa7dp_rank\x00"...)
	if _, err := Decode(twice); err == nil || !strings.Contains(err.Error(), "dp_rank is there twice") {
		t.Error(err)
	}
	deep := append([]byte{}, dynamoBusy...)
	deep[0]++
	deep = append(deep, "\xa1x\x91\x91\x91\x91\x91\x91\x00"...)
	if _, err := Decode(deep); err == nil {
		t.Error("nested without a bound")
	}
}

func FuzzStream(f *testing.F) {
	for _, payload := range [][]byte{sglangBusy, sglangHeartbeat, dynamoBusy, dynamoHeartbeat} {
		f.Add(uint64(1), payload)
	}
	f.Fuzz(func(t *testing.T, number uint64, payload []byte) {
		var s Stream
		m, err := s.Take(message(number, payload))
		if err == nil && m == nil && s.Counts.Heartbeats != 1 || err != nil && s.Counts.Refused != 1 || m != nil && m.Heartbeat() {
			t.Errorf("%+v, %v, %+v", m, err, s.Counts)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	var s Stream
	frames := message(0, sglangBusy)
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		binary.BigEndian.PutUint64(frames[1], i)
		if m, err := s.Take(frames); err != nil || m == nil {
			b.Fatal(err)
		}
	}
}
