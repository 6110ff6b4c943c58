package zmtp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// libzmq is what a PUB socket of libzmq 4.3.4 sends to a subscriber: greeting, READY, and
// two messages of three frames. It was recorded from a socket of python3-zmq 24.0.1.
var libzmq = unhex("ff00000000000000017f03014e554c4c" + strings.Repeat("00", 48) +
	"04190552454144590b536f636b65742d5479706500000003505542" +
	"0100010800000000000000000200000000000001" + "2c" + strings.Repeat("78", 300) +
	"0100010800000000000000010001" + "79")

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// scripted is a connection whose peer has sent all it will.
type scripted struct {
	net.Conn // of methods that are not called: nil
	in       *bytes.Reader
	out      bytes.Buffer
}

func (s *scripted) Read(p []byte) (int, error)       { return s.in.Read(p) }
func (s *scripted) Write(p []byte) (int, error)      { return s.out.Write(p) }
func (s *scripted) SetDeadline(time.Time) error      { return nil }
func (s *scripted) SetReadDeadline(time.Time) error  { return nil }
func (s *scripted) SetWriteDeadline(time.Time) error { return nil }

// against is a subscription whose peer sends these bytes and ends.
func against(sent []byte) (c *Conn, peer *scripted, err error) {
	peer = &scripted{in: bytes.NewReader(sent)}
	c, err = Subscribe(peer)
	return c, peer, err
}

func TestMessagesOfLibzmqAreRead(t *testing.T) {
	c, _, err := against(libzmq)
	if err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Minute)
	for i, want := range []string{strings.Repeat("x", 300), "y"} {
		frames, err := c.Next(soon)
		if err != nil || len(frames) != 3 || len(frames[0]) != 0 || binary.BigEndian.Uint64(frames[1]) != uint64(i) || string(frames[2]) != want {
			t.Fatalf("message %d: %q, %v", i, frames, err)
		}
	}
	if _, err := c.Next(soon); err != io.EOF {
		t.Errorf("after the last message: %v", err)
	}
}

func TestWhatIsNoPublisherIsRefused(t *testing.T) {
	change := func(at int, to string) []byte {
		b := []byte(string(libzmq))
		copy(b[at:], to)
		return b
	}
	for name, sent := range map[string][]byte{
		"HTTP":               []byte("HTTP/1.1 400 Bad Request\r\n\r\n" + strings.Repeat(" ", 64)),
		"version 2":          change(10, "\x02"),
		"mechanism":          change(12, "PLAIN"),
		"another socket":     change(64+27-3, "REP"),
		"message for READY":  change(64, "\x00"),
		"another command":    change(66, "\x05ERROR"),
		"reserved flag":      change(64+27, "\x09"),
		"command with more":  change(64+27, "\x05"),
		"a frame too long":   append(libzmq[:64+27:64+27], unhex("020000000000010001")...),
		"a frame of 2^64-1":  append(libzmq[:64+27:64+27], unhex("02ffffffffffffffff")...),
		"frames without end": append(libzmq[:64+27:64+27], unhex(strings.Repeat("0100", MaxFrames)+"0000")...),
	} {
		c, _, err := against(sent)
		if err == nil {
			_, err = c.Next(time.Now().Add(time.Minute))
		}
		if !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEndWithinAMessageIsAnError(t *testing.T) {
	for n := range libzmq {
		c, _, err := against(libzmq[:n])
		for err == nil {
			_, err = c.Next(time.Now().Add(time.Minute))
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
}

func TestPingIsAnsweredWithItsContext(t *testing.T) {
	ping := append(libzmq[:64+27:64+27], append([]byte{4, 9}, "\x04PING\x00\x0aab"...)...)
	c, peer, err := against(append(ping, 0, 1, 'z'))
	if err != nil {
		t.Fatal(err)
	}
	if frames, err := c.Next(time.Now().Add(time.Minute)); err != nil || string(frames[0]) != "z" {
		t.Errorf("%q, %v", frames, err)
	}
	if got := peer.out.String(); !strings.HasSuffix(got, "\x04\x07\x04PONGab") || !strings.Contains(got, "\x00\x01\x01") {
		t.Errorf("sent %q", got)
	}
}

func TestSilenceEndsAtTheDeadline(t *testing.T) {
	ours, theirs := net.Pipe()
	go io.Copy(io.Discard, theirs)
	go theirs.Write(libzmq[:64+27])
	c, err := Subscribe(ours)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Next(time.Now().Add(-time.Second)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func TestDialRefusesWhatItCannotReach(t *testing.T) {
	for _, endpoint := range []string{"", "host:1", "tcp://", "tcp://*:5", "tcp://:5", "tcp://host:", "ipc://relative", "udp://h:1", "inproc://x"} {
		if _, err := Dial(t.Context(), endpoint); err == nil || !strings.Contains(err.Error(), "tcp://HOST:PORT") {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}

func FuzzSubscribe(f *testing.F) {
	f.Add(libzmq)
	f.Add(append(libzmq[:64+27:64+27], append([]byte{4, 9}, "\x04PING\x00\x0aab"...)...))
	f.Fuzz(func(t *testing.T, sent []byte) {
		c, _, err := against(sent)
		for err == nil {
			var frames [][]byte
			if frames, err = c.Next(time.Now().Add(time.Minute)); err == nil && (len(frames) == 0 || len(frames) > MaxFrames) {
				t.Fatalf("%d frames", len(frames))
			}
		}
	})
}
