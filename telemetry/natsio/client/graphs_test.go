package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// shelf loads files as graphs, and answers with them as results.
type shelf struct {
	conn  *natsio.Conn
	files map[string][]byte
	fail  error
}

func (s *shelf) Answer(ctx context.Context, queue string, r *telemetry.GraphRequest) error {
	at := queue + "/" + r.Name
	switch {
	case s.fail != nil:
		return s.fail
	case r.Ask == telemetry.GraphLoad && !(r.Directed && r.Loops):
		return fmt.Errorf("%w: directed %t, loops %t", natsio.ErrGraphRequest, r.Directed, r.Loops)
	case r.Ask == telemetry.GraphLoad:
		file, err := s.conn.Graph(ctx, r.Object)
		if err != nil {
			return err
		}
		defer file.Close()
		if s.files[at], err = io.ReadAll(file); err != nil {
			return err
		}
		return s.conn.DropGraph(ctx, r.Object)
	case r.Ask == telemetry.GraphRead:
		rest := s.files[at][r.Offset:]
		r.Data = append(r.Data[:0], rest[:min(len(rest), telemetry.MaxGraphPart)]...)
	}
	return nil
}

func serveShelf(t *testing.T) (*shelf, *natsio.GraphService, *natsio.Conn) {
	t.Helper()
	server := newServer(t)
	s := &shelf{conn: dial(t, server.URL()), files: make(map[string][]byte)}
	service, err := s.conn.ServeGraphs("gpu0", s)
	must(t, err)
	must(t, s.conn.Flush(testContext(t)))
	return s, service, dial(t, server.URL())
}

func TestGraphFilesTravelThroughTheObjectStoreAndLeaveNothingThere(t *testing.T) {
	s, service, c := serveShelf(t)
	ctx := testContext(t)
	file := make([]byte, 2*telemetry.MaxGraphPart+7)
	for i := range file {
		file[i] = byte(i * i >> 3)
	}
	must(t, LoadGraph(ctx, c, "gpu0", "q", "g", bytes.NewReader(file), GraphOptions{Directed: true, Loops: true}))
	if !bytes.Equal(s.files["q/g"], file) {
		t.Fatalf("%d of %d bytes arrived, or others", len(s.files["q/g"]), len(file))
	}
	got, err := GraphResult(ctx, c, "gpu0", "q", "g", 1, 5, uint64(len(file)-1))
	if err != nil || !bytes.Equal(got, file[5:len(file)-1]) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	if _, err := GraphResult(ctx, c, "gpu0", "q", "g", 1, 5, uint64(len(file)+1)); err == nil {
		t.Error("more came back than there is")
	}
	// A file that the worker refuses is deleted by its sender.
	if err := LoadGraph(ctx, c, "gpu0", "q", "h", strings.NewReader("0 1"), GraphOptions{}); !errors.Is(err, natsio.ErrGraphRequest) {
		t.Errorf("a file that was refused: %v", err)
	}
	if err := LoadGraph(ctx, c, "gpu1", "q", "h", strings.NewReader("0 1"), GraphOptions{}); !errors.Is(err, natsio.ErrNoRuntime) {
		t.Errorf("a worker that is not there: %v", err)
	}
	if left := objects(t, c); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	if stats := service.Stats(); stats.Served < 3 || stats.Refused != 1 {
		t.Errorf("%+v", stats)
	}
	must(t, service.Stop(ctx))
}

func TestGraphRequestsThatCannotBeAreRefusedWithAReason(t *testing.T) {
	s, _, c := serveShelf(t)
	ctx := testContext(t)
	for _, want := range []error{natsio.ErrNoGraph, natsio.ErrGraphTooLarge, natsio.ErrGraphRequest} {
		s.fail = fmt.Errorf("%w: because", want)
		if _, err := AskGraphs(ctx, c, "gpu0", "q", &telemetry.GraphRequest{Ask: telemetry.GraphRun, Name: "g"}); !errors.Is(err, want) || !strings.HasSuffix(err.Error(), "q: "+want.Error()+": because") {
			t.Errorf("got %v, want %v, once", err, want)
		}
	}
	s.fail = nil
	if _, err := AskGraphs(ctx, c, "gpu0", "q", &telemetry.GraphRequest{Ask: telemetry.GraphDrop, Name: "a b"}); err == nil {
		t.Error("a name that is none was taken")
	}
	for _, object := range []string{"", "none", ">", "a.b c"} {
		if _, err := AskGraphs(ctx, c, "gpu0", "q", &telemetry.GraphRequest{Ask: telemetry.GraphLoad, Name: "g", Object: object, Directed: true, Loops: true}); err == nil {
			t.Errorf("object %q was loaded", object)
		}
	}
}

// objects are the files in the object store.
func objects(t *testing.T, c *natsio.Conn) (names []string) {
	t.Helper()
	js, err := jetstream.New(c.NATS())
	must(t, err)
	store, err := js.ObjectStore(testContext(t), c.GraphBucket())
	must(t, err)
	infos, err := store.List(testContext(t))
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		t.Fatal(err)
	}
	for _, info := range infos {
		names = append(names, info.Name)
	}
	return names
}

// What says that it is a large file need not have the bytes. Whoever reads it does not wait for them for ever, though its
// context lasts.
func TestAGraphFileThatDoesNotComeIsGivenUp(t *testing.T) {
	c := dial(t, newServer(t).URL())
	ctx := testContext(t)
	must(t, c.PutGraph(ctx, "announced", bytes.NewReader(make([]byte, 1<<20))))
	js, err := jetstream.New(c.NATS())
	must(t, err)
	stream, err := js.Stream(ctx, "OBJ_"+c.GraphBucket())
	must(t, err)
	must(t, stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+c.GraphBucket()+".C.>")))
	file, err := c.Graph(context.Background(), "announced")
	must(t, err)
	n, err := io.Copy(io.Discard, file)
	if !errors.Is(err, natsio.ErrGraphRequest) || !strings.Contains(err.Error(), "does not come") || n != 0 {
		t.Errorf("%d bytes came, %v", n, err)
	}
	must(t, file.Close())
}
