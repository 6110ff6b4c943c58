package page

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium, told what to do by its DevTools protocol: JSON that ends with a zero byte, by two pipes.
type browser struct {
	t       *testing.T
	in      *os.File
	session string

	mu      sync.Mutex
	number  int
	answers map[int]chan answered
	thrown  []string // what went wrong in the page
}

type answered struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// answersWithin bounds the wait for anything of the browser; a busy machine takes seconds to start one.
const answersWithin = 2 * time.Minute

// openBrowser starts a browser with one empty page. Whoever runs the tests has one: see .ci/packages.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Fatal("no chromium: .ci/packages test installs it")
	}
	toBrowser, in, err := os.Pipe()
	must(t, err)
	out, fromBrowser, err := os.Pipe()
	must(t, err)
	c := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	c.ExtraFiles = []*os.File{toBrowser, fromBrowser} // descriptors 3 and 4
	must(t, c.Start())
	toBrowser.Close()
	fromBrowser.Close()
	b := &browser{t: t, in: in, answers: make(map[int]chan answered)}
	read := make(chan struct{})
	go func() { defer close(read); b.read(out) }()
	t.Cleanup(func() {
		_, _ = b.ask("Browser.close", nil)
		in.Close()
		_ = c.Wait()
		<-read
		out.Close()
	})
	var target struct{ TargetID string }
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.do("Runtime.enable", nil, nil)
	b.do("Log.enable", nil, nil)
	return b
}

// read takes what the browser says until it ends.
func (b *browser) read(out *os.File) {
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadBytes(0)
		if err != nil {
			return
		}
		var said struct {
			answered
			ID     int
			Method string
			Params json.RawMessage
		}
		if json.Unmarshal(text[:len(text)-1], &said) != nil {
			continue
		}
		b.mu.Lock()
		if answer := b.answers[said.ID]; answer != nil {
			answer <- said.answered
			delete(b.answers, said.ID)
		}
		if said.Method == "Runtime.exceptionThrown" || said.Method == "Log.entryAdded" {
			b.thrown = append(b.thrown, string(said.Params))
		}
		b.mu.Unlock()
	}
}

// ask has the browser do something.
func (b *browser) ask(method string, params any) (json.RawMessage, error) {
	b.mu.Lock()
	b.number++
	id, answer := b.number, make(chan answered, 1)
	b.answers[id] = answer
	b.mu.Unlock()
	text, err := json.Marshal(struct {
		ID        int    `json:"id"`
		Method    string `json:"method"`
		Params    any    `json:"params,omitempty"`
		SessionID string `json:"sessionId,omitempty"`
	}{id, method, params, b.session})
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	if err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		if a.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		return a.Result, nil
	case <-time.After(answersWithin):
		return nil, fmt.Errorf("%s: no answer for %v", method, answersWithin)
	}
}

// do is ask for what has to go well.
func (b *browser) do(method string, params, into any) {
	b.t.Helper()
	answer, err := b.ask(method, params)
	must(b.t, err)
	if into != nil {
		must(b.t, json.Unmarshal(answer, into))
	}
}

// evaluate is the value of an expression in the page, for which it waits.
func (b *browser) evaluate(expression string) (value any) {
	b.t.Helper()
	value, err := b.tryEvaluate(expression)
	must(b.t, err)
	return value
}

func (b *browser) tryEvaluate(expression string) (value any, err error) {
	answer, err := b.ask("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true})
	if err != nil {
		return nil, err
	}
	var is struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	if err := json.Unmarshal(answer, &is); err != nil || is.ExceptionDetails != nil {
		return nil, fmt.Errorf("%s: %s, %w", expression, is.ExceptionDetails, err)
	}
	return is.Result.Value, nil
}

// open shows a page at a size and returns when it is complete.
func (b *browser) open(url string, wide int, dark bool) {
	b.t.Helper()
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": wide, "height": 900, "deviceScaleFactor": 1, "mobile": wide < 600}, nil)
	b.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.do("Page.navigate", map[string]any{"url": url}, nil)
	b.await(fmt.Sprintf("document.readyState === 'complete' && location.href === %q", url))
}

// await returns when a condition holds in the page, or in the one that takes its place.
func (b *browser) await(condition string) {
	b.t.Helper()
	for end := time.Now().Add(answersWithin); ; time.Sleep(10 * time.Millisecond) {
		is, err := b.tryEvaluate(condition)
		if is == true {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("never: %s (%v)\n%s", condition, err, b.text())
		}
	}
}

// text is what a person reads.
func (b *browser) text() string {
	b.t.Helper()
	return b.evaluate("document.body.innerText").(string)
}

// click clicks on what a selector finds first, where a person would.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.mouse("mousePressed", selector)
	b.mouse("mouseReleased", selector)
}

// mouse presses or releases its button over what a selector finds first.
func (b *browser) mouse(kind, selector string) {
	b.t.Helper()
	at := b.evaluate(fmt.Sprintf("(() => { const e = document.querySelector(%q); e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()", selector)).([]any)
	b.do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}, nil)
}

// shot keeps a picture of the page, in the directory of -screenshots.
func (b *browser) shot(name string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	var picture struct{ Data []byte }
	b.do("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &picture)
	must(b.t, os.WriteFile(fmt.Sprintf("%s/%s.png", *screenshots, name), picture.Data, 0o644))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
