package page

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"ringmaster/cmd/runtime/chart"
	"ringmaster/cmd/runtime/explain"
	"ringmaster/cmd/runtime/fleetview"
)

// Config says what the pages show.
type Config struct {
	Source  fleetview.Source
	Explain func(ctx context.Context, worker, queue string, decision uint64) (explain.Explanation, error)
	Bus     string // which server, for the head
	Log     *slog.Logger
}

const (
	lookEvery   = 500 * time.Millisecond
	mostStreams = 32 // browsers that are told of what changes; more have to reload
	askFor      = 5 * time.Second
	writeFor    = 10 * time.Second // one event
	keepFor     = 3 * time.Second  // an explanation
	mostAnswers = 64               // explanations that are kept
)

//go:embed page.html live.js style.css
var files embed.FS

// Handler serves the pages.
type Handler struct {
	cfg     Config
	mux     *http.ServeMux
	pages   *template.Template
	streams chan struct{}
	closed  chan struct{}

	mu      sync.Mutex
	answers map[asked]answer
}

// New returns the pages of a configuration. Close ends the events that are being sent.
func New(cfg Config) *Handler {
	h := &Handler{cfg: cfg, mux: http.NewServeMux(), streams: make(chan struct{}, mostStreams), closed: make(chan struct{}), answers: make(map[asked]answer)}
	h.pages = template.Must(template.New("").Funcs(functions).ParseFS(files, "page.html"))
	h.mux.HandleFunc("GET /{$}", h.whole)
	h.mux.HandleFunc("GET /queue/{worker}/{queue}", h.whole)
	h.mux.HandleFunc("GET /worker/{worker}", h.whole)
	h.mux.HandleFunc("GET /events", h.events)
	h.mux.HandleFunc("GET /live.js", h.file("live.js", "text/javascript; charset=utf-8"))
	h.mux.HandleFunc("GET /style.css", h.file("style.css", "text/css; charset=utf-8"))
	return h
}

// Close ends the events that are being sent. It is called once.
func (h *Handler) Close() { close(h.closed) }

// ServeHTTP serves the pages. Nothing on them may come from elsewhere, or run but live.js.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	h.mux.ServeHTTP(w, r)
}

func (h *Handler) file(name, kind string) http.HandlerFunc {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	if name == "style.css" {
		text = append([]byte(chart.Style), text...)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(text) // the browser has gone
	}
}

// whole sends a page.
func (h *Handler) whole(w http.ResponseWriter, r *http.Request) {
	body, code := h.body(r.Context(), r.URL.Path, r.URL.Query().Get("decision"))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	frame := struct {
		Title, Bus, Of string
		Body           template.HTML // written by the templates of this package
	}{strings.Trim(r.URL.Path, "/"), h.cfg.Bus, r.URL.RequestURI(), template.HTML(body)}
	if err := h.pages.ExecuteTemplate(w, "frame", frame); err != nil {
		h.cfg.Log.Debug("a page was not sent", "path", r.URL.Path, "error", err)
	}
}

// events sends what a page shows, anew every half second.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) {
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		http.Error(w, fmt.Sprintf("%d browsers are told already; reload the page instead", mostStreams), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		body, _ := h.body(r.Context(), r.URL.Query().Get("of"), "")
		event := "data: " + strings.ReplaceAll(body, "\n", "\ndata: ") + "\n\n"
		if control.SetWriteDeadline(time.Now().Add(writeFor)) != nil {
			return
		}
		if _, err := w.Write([]byte(event)); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-h.closed:
			return
		}
	}
}

// body is what a path shows now, and the status of a page that has it.
func (h *Handler) body(ctx context.Context, path, decision string) (text string, code int) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/" || path == "":
		return h.write("fleet", newFleet(h.cfg.Source.Look())), http.StatusOK
	case len(parts) == 3 && parts[0] == "queue":
		return h.queue(ctx, parts[1], parts[2], decision)
	case len(parts) == 2 && parts[0] == "worker":
		if of, ok := newWorker(h.cfg.Source.Look(), parts[1]); ok {
			return h.write("worker", of), http.StatusOK
		}
	}
	return h.write("none", path), http.StatusNotFound
}

// queue is a queue's page. With the number of a decision it explains that one, else the last.
func (h *Handler) queue(ctx context.Context, worker, name, decision string) (text string, code int) {
	detail, ok := h.cfg.Source.Detail(worker, name)
	if !ok {
		return h.write("none", "/queue/"+worker+"/"+name), http.StatusNotFound
	}
	of := newQueue(h.cfg.Source.Look().At, &detail)
	number, err := strconv.ParseUint(decision, 10, 64)
	if decision != "" && err != nil {
		return h.write("none", "decision "+decision), http.StatusNotFound
	}
	said := h.explained(ctx, asked{worker, name, number})
	of.Explained = said.is
	if said.err != nil {
		of.Unexplained = said.err.Error()
	}
	return h.write("queue", of), http.StatusOK
}

// asked is a decision that is to be explained.
type asked struct {
	worker, queue string
	decision      uint64
}

// answer is an explanation, or why there is none.
type answer struct {
	at  time.Time
	is  *explain.Explanation
	err error
}

// explained is an explanation of a few seconds ago at most: each reads all decisions of its queue.
func (h *Handler) explained(ctx context.Context, of asked) answer {
	h.mu.Lock()
	defer h.mu.Unlock() // one reading at a time
	if a, known := h.answers[of]; known && time.Since(a.at) < keepFor {
		return a
	}
	if len(h.answers) >= mostAnswers {
		clear(h.answers)
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	said, err := h.cfg.Explain(ctx, of.worker, of.queue, of.decision)
	a := answer{time.Now(), &said, err} // the time begins when it is there: a bus that is slow is not asked for each look
	if err != nil {
		a.is = nil
	}
	h.answers[of] = a
	return a
}

func (h *Handler) write(name string, of any) string {
	var b bytes.Buffer
	if err := h.pages.ExecuteTemplate(&b, name, of); err != nil {
		h.cfg.Log.Error("a page could not be written", "page", name, "error", err)
		return "<p>This page could not be written; the log of the process says why.</p>"
	}
	return b.String()
}
