package zmtp

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Bounds of what a peer may send.
const (
	MaxFrame  = 64 << 10 // bytes
	MaxFrames = 8        // of a message
)

// handshakePatience is how long a peer may take from its first byte to its READY.
const handshakePatience = 5 * time.Second

// ErrProtocol says that the peer does not speak ZMTP 3 as a PUB socket does, or exceeds a bound.
var ErrProtocol = errors.New("not a ZeroMQ 3 publisher")

// Conn is a subscription. One goroutine may use it at a time; Close may be called by any.
type Conn struct {
	net    net.Conn
	in     *bufio.Reader
	buffer []byte   // of the frames of one message
	frames [][]byte // in buffer
}

// Dial connects to an endpoint, tcp://HOST:PORT or ipc:///PATH, and subscribes to every topic.
func Dial(ctx context.Context, endpoint string) (*Conn, error) {
	network, address, err := Address(endpoint)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakePatience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	c, err := Subscribe(conn)
	if !stop() || err != nil {
		conn.Close()
		return nil, errors.Join(context.Cause(ctx), err)
	}
	return c, nil
}

// Address is the network and the address of an endpoint.
func Address(endpoint string) (network, address string, err error) {
	scheme, address, found := strings.Cut(endpoint, "://")
	switch {
	case found && scheme == "ipc" && strings.HasPrefix(address, "/"):
		return "unix", address, nil
	case found && scheme == "tcp":
		host, port, err := net.SplitHostPort(address)
		if err == nil && host != "" && host != "*" && port != "" {
			return "tcp", address, nil
		}
	}
	return "", "", fmt.Errorf("endpoint %.80q: want tcp://HOST:PORT or ipc:///PATH", endpoint)
}

// Subscribe shakes hands on a connection and subscribes to every topic.
func Subscribe(conn net.Conn) (*Conn, error) {
	c := &Conn{net: conn, in: bufio.NewReader(conn)}
	_ = conn.SetDeadline(time.Now().Add(handshakePatience)) // fails only on a connection that is closed
	if err := c.greet(); err != nil {
		return nil, err
	}
	if err := c.ready(); err != nil {
		return nil, err
	}
	// A subscription is a message of its own: 1, and the prefix of the topics.
	if err := c.send(0, []byte{1}); err != nil {
		return nil, err
	}
	return c, conn.SetDeadline(time.Time{})
}

// greet exchanges greetings: signature, version, mechanism.
func (c *Conn) greet() error {
	var own, theirs [64]byte
	own[0], own[9] = 0xff, 0x7f
	own[10], own[11] = 3, 0
	copy(own[12:32], "NULL")
	if _, err := c.net.Write(own[:]); err != nil {
		return err
	}
	if _, err := io.ReadFull(c.in, theirs[:]); err != nil {
		return fmt.Errorf("greeting: %w", err)
	}
	if theirs[0] != 0xff || theirs[9]&1 == 0 || theirs[10] < 3 {
		return fmt.Errorf("%w: its greeting is of another protocol, or of a version before 3", ErrProtocol)
	}
	if mechanism := strings.TrimRight(string(theirs[12:32]), "\x00"); mechanism != "NULL" {
		return fmt.Errorf("%w: it asks for the mechanism %.20q, and only NULL is known", ErrProtocol, mechanism)
	}
	return nil
}

// ready exchanges READY commands, which name the types of the sockets.
func (c *Conn) ready() error {
	if err := c.send(flagCommand, metadata("READY", "Socket-Type", "SUB")); err != nil {
		return err
	}
	c.buffer = c.buffer[:0]
	flags, body, err := c.frame()
	if err != nil {
		return fmt.Errorf("READY: %w", err)
	}
	if flags&flagCommand == 0 {
		return fmt.Errorf("%w: a message comes before READY", ErrProtocol)
	}
	name, rest := command(body)
	if name != "READY" {
		return fmt.Errorf("%w: it answers %.20q instead of READY", ErrProtocol, name)
	}
	if socket := property(rest, "Socket-Type"); socket != "PUB" && socket != "XPUB" {
		return fmt.Errorf("%w: its socket is of type %.20q", ErrProtocol, socket)
	}
	return nil
}

// Next returns the frames of the next message, which are valid until the next call. At the
// deadline the error is os.ErrDeadlineExceeded, and io.EOF says that the peer has gone;
// after any error the connection is of no more use.
func (c *Conn) Next(deadline time.Time) ([][]byte, error) {
	if err := c.net.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	var ends [MaxFrames]int
	c.buffer, c.frames = c.buffer[:0], c.frames[:0]
	for n := 0; ; {
		at := len(c.buffer)
		flags, body, err := c.frame()
		if err != nil {
			return nil, err
		}
		if flags&flagCommand != 0 {
			c.buffer = c.buffer[:at]
			if err := c.answer(body); err != nil {
				return nil, err
			}
			continue
		}
		if n == MaxFrames {
			return nil, fmt.Errorf("%w: a message of more than %d frames", ErrProtocol, MaxFrames)
		}
		ends[n] = len(c.buffer)
		n++
		if flags&flagMore != 0 {
			continue
		}
		for i, begin := 0, 0; i < n; i++ {
			c.frames = append(c.frames, c.buffer[begin:ends[i]])
			begin = ends[i]
		}
		return c.frames, nil
	}
}

// answer answers a PING and ignores other commands.
func (c *Conn) answer(body []byte) error {
	name, rest := command(body)
	if name != "PING" || len(rest) < 2 {
		return nil
	}
	pong := append([]byte("\x04PONG"), rest[2:min(len(rest), 18)]...) // behind a time to live, a context of at most 16 bytes
	_ = c.net.SetWriteDeadline(time.Now().Add(handshakePatience))     // fails only on a connection that is closed
	return c.send(flagCommand, pong)
}

// Close ends the subscription, a Next that waits included.
func (c *Conn) Close() error { return c.net.Close() }

// Flags of a frame.
const (
	flagMore    = 1
	flagLong    = 2 // the size has eight bytes
	flagCommand = 4
)

// frame reads a frame to the end of the buffer.
func (c *Conn) frame() (flags byte, body []byte, err error) {
	if flags, err = c.in.ReadByte(); err != nil {
		return 0, nil, err
	}
	if flags&^(flagMore|flagLong|flagCommand) != 0 || flags&flagCommand != 0 && flags&flagMore != 0 {
		return 0, nil, fmt.Errorf("%w: a frame has the flags %#x", ErrProtocol, flags)
	}
	var size [8]byte
	short := size[7:]
	if flags&flagLong != 0 {
		short = size[:]
	}
	if _, err := io.ReadFull(c.in, short); err != nil {
		return 0, nil, cut(err)
	}
	n := binary.BigEndian.Uint64(size[:])
	if n > MaxFrame {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes, at most %d", ErrProtocol, n, MaxFrame)
	}
	at := len(c.buffer)
	c.buffer = append(c.buffer, make([]byte, n)...)
	if _, err := io.ReadFull(c.in, c.buffer[at:]); err != nil {
		return 0, nil, cut(err)
	}
	return flags, c.buffer[at:], nil
}

// cut is the error of a peer that goes away within a frame.
func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// send writes a short frame.
func (c *Conn) send(flags byte, body []byte) error {
	_, err := c.net.Write(append([]byte{flags, byte(len(body))}, body...))
	return err
}

// command splits a command into its name and what follows.
func command(body []byte) (name string, rest []byte) {
	if len(body) == 0 || int(body[0]) > len(body)-1 {
		return "", nil
	}
	return string(body[1 : 1+body[0]]), body[1+body[0]:]
}

// metadata is a command with one property.
func metadata(name, key, value string) []byte {
	b := append([]byte{byte(len(name))}, name...)
	b = append(append(b, byte(len(key))), key...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	return append(b, value...)
}

// property is the value of a property of a command, or empty. Names know no case.
func property(b []byte, name string) string {
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < 1+n+4 {
			return ""
		}
		key := string(b[1 : 1+n])
		size := binary.BigEndian.Uint32(b[1+n:])
		b = b[1+n+4:]
		if uint64(size) > uint64(len(b)) {
			return ""
		}
		if strings.EqualFold(key, name) {
			return string(b[:size])
		}
		b = b[size:]
	}
	return ""
}
