package natsio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// MaxGraphFile is the most bytes of a graph file that goes to a worker.
const MaxGraphFile = 256 << 20

// Graph files on their way lie in a bucket of JetStream's object store, which checks their digests. A worker deletes the file
// that it has read; what nobody deletes expires.
const (
	graphBucketBytes = 2 * MaxGraphFile
	graphObjectLife  = time.Hour
)

// GraphBucket is the name of the bucket of graph files, RINGMASTER_GRAPHS with the default prefix.
func (c *Conn) GraphBucket() string { return storeName(c.prefix(), "GRAPHS") }

// PutGraph puts a graph file of up to MaxGraphFile bytes into the object store, from which a worker loads it.
func (c *Conn) PutGraph(ctx context.Context, object string, file io.Reader) error {
	store, err := c.graphStore(ctx)
	if err != nil {
		return fmt.Errorf("graph files travel through JetStream's object store, bucket %s: %w", c.GraphBucket(), err)
	}
	counted := &io.LimitedReader{R: file, N: MaxGraphFile + 1}
	if _, err = store.Put(ctx, jetstream.ObjectMeta{Name: object}, counted); err == nil && counted.N == 0 {
		err = errors.Join(fmt.Errorf("%w: more than %d bytes", ErrGraphTooLarge, MaxGraphFile), store.Delete(ctx, object))
	}
	if err != nil {
		return fmt.Errorf("graph file to the object store: %w", err)
	}
	return nil
}

// graphStore opens the bucket, or makes it.
func (c *Conn) graphStore(ctx context.Context) (store jetstream.ObjectStore, err error) {
	name := c.GraphBucket()
	if store, err = c.js.ObjectStore(ctx, name); !errors.Is(err, jetstream.ErrBucketNotFound) {
		return store, err
	}
	_, err = c.place(name, func(replicas int) (err error) {
		store, err = c.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: name, Description: "graph files on their way to a worker", TTL: graphObjectLife, MaxBytes: graphBucketBytes, Replicas: replicas,
		})
		return err
	})
	if errors.Is(err, jetstream.ErrBucketExists) { // by somebody else meanwhile
		return c.js.ObjectStore(ctx, name)
	}
	if err == nil {
		err = c.awaitGraphs(ctx)
	}
	return store, err
}

// awaitGraphs waits until the stream behind a bucket that was just made answers: in a cluster a server
// may not know yet where it is, and a file that is read from a pipe cannot be put twice. It asks with a
// message that no stream stores.
func (c *Conn) awaitGraphs(ctx context.Context) error {
	m := nats.NewMsg("$O." + c.GraphBucket() + ".C.none")
	for attempt := 1; ; attempt++ {
		_, err := c.js.PublishMsg(ctx, m, jetstream.WithExpectStream("_none"), ownRetries)
		var answer *jetstream.APIError
		if errors.As(err, &answer) {
			return nil
		}
		if !c.Pause(ctx, attempt) {
			return err
		}
	}
}

// Graph opens a graph file of the object store. Reading it to its end fails if it is not what was put there, or does not come:
// what is announced there need not be. The error wraps ErrNoGraph, ErrGraphTooLarge or ErrGraphRequest.
func (c *Conn) Graph(ctx context.Context, object string) (io.ReadCloser, error) {
	store, err := c.js.ObjectStore(ctx, c.GraphBucket())
	if err == nil {
		ctx, stop := context.WithCancel(ctx)
		d := &graphFile{object: object, stop: stop}
		if d.file, err = store.Get(patient{ctx, d}, object); err == nil {
			err = d.sized()
		}
		if err == nil {
			return d, nil
		}
		stop()
	}
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, jetstream.ErrNameRequired) {
		return nil, fmt.Errorf("%w: the object store has no file %q", ErrNoGraph, object)
	}
	return nil, fmt.Errorf("graph file %q of the object store: %w", object, err)
}

// A graph file may have whoever reads it wait for this long at a time, and in all that long and longer by what has come.
const (
	deliveryPatience = 3 * time.Second
	deliveryRate     = 4 << 20 // bytes a second
)

// graphFile is a file that comes from the object store.
type graphFile struct {
	object string
	file   jetstream.ObjectResult
	stop   context.CancelFunc // ends its subscription
	bytes  int64              // that came
	waited time.Duration      // for them
}

// sized refuses a file that is too large.
func (d *graphFile) sized() error {
	info, err := d.file.Info()
	if err == nil && info.Size > MaxGraphFile {
		err = fmt.Errorf("%w: a file of %d bytes; %d may come over NATS", ErrGraphTooLarge, info.Size, MaxGraphFile)
	}
	if err != nil {
		return errors.Join(err, d.file.Close())
	}
	return nil
}

// left is for how long a read may wait.
func (d *graphFile) left() time.Duration {
	all := deliveryPatience + time.Duration(float64(d.bytes)/deliveryRate*float64(time.Second))
	return min(deliveryPatience, all-d.waited)
}

func (d *graphFile) Read(p []byte) (n int, err error) {
	begun := time.Now()
	n, err = d.file.Read(p)
	d.bytes += int64(n)
	d.waited += time.Since(begun)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: file %q does not come: %d bytes in %v", ErrGraphRequest, d.object, d.bytes, d.waited.Round(time.Millisecond))
	}
	return n, err
}

func (d *graphFile) Close() error {
	d.stop()
	return d.file.Close()
}

// patient is the context of a graphFile. The library looks at its deadline before each read, and takes a context without
// one for one of five seconds for all of them.
type patient struct {
	context.Context
	d *graphFile
}

func (p patient) Deadline() (time.Time, bool) {
	deadline := time.Now().Add(p.d.left())
	if end, ok := p.Context.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	return deadline, true
}

// DropGraph deletes a graph file from the object store, if it is there.
func (c *Conn) DropGraph(ctx context.Context, object string) error {
	store, err := c.js.ObjectStore(ctx, c.GraphBucket())
	if err == nil {
		err = store.Delete(ctx, object)
	}
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return err
}
