package page

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
)

var screenshots = flag.String("screenshots", "", "directory for pictures of the pages")

const desktop, phone = 1280, 390

// reads says what of some words a person does not read.
func (b *browser) reads(want ...string) {
	b.t.Helper()
	text := b.text()
	for _, words := range want {
		if !strings.Contains(text, words) {
			b.t.Errorf("no %q in\n%s", words, text)
		}
	}
}

// What changes is shown without a reload, until the process ends, which is shown too.
func TestABrowserFollowsTheFleet(t *testing.T) {
	source := newBus()
	s := serveOf(t, source)
	b := openBrowser(t)
	b.open(s.URL+"/", desktop, false)
	b.reads("1 of 2 queues wrong", "gpu0.dead", "EXPIRED", "gpu0.jobs", "interpreter", "nats://host:4222", "<script>alert(1)</script>")
	b.evaluate("window.opened = true") // a reload forgets it
	source.mu.Lock()
	source.view.Recommendation(source.now, "gpu0", "fresh", &telemetry.Header{Incarnation: 7}, &telemetry.Recommendation{Decision: 1, ValidForMs: 60_000, Topology: "none", ExecutionMode: "jit", LaunchMode: "wave", WorkgroupSizeX: 64, Groups: 3})
	source.mu.Unlock()
	b.await("document.body.innerText.includes('1 of 3 queues wrong') && document.body.innerText.includes('gpu0.fresh') && window.opened")
	b.shot("fleet-few")
	if len(b.thrown) > 0 {
		t.Errorf("the browser complains: %s", b.thrown)
	}
	closed(t, s)
	b.await("document.getElementById('live').innerText.includes('does not answer')")
}

// From the fleet to the queue, to the change of its plan, and to the worker.
func TestABrowserFollowsLinks(t *testing.T) {
	s := serve(t)
	b := openBrowser(t)
	b.open(s.URL+"/", desktop, false)
	b.click(`a[href="/queue/gpu0/jobs"]`)
	b.await("location.pathname === '/queue/gpu0/jobs' && document.readyState === 'complete'")
	b.reads("decision 5,", "nothing: the plan follows the load", "1,096 slots more", "30 % of the device's time", "changes of the plan")
	b.shot("queue")
	b.click(`a[href="/queue/gpu0/jobs?decision=4"] rect`)
	b.await("location.search === '?decision=4' && document.readyState === 'complete'")
	b.reads("decision 4,")
	b.click(`h1 a[href="/worker/gpu0"]`)
	b.await("location.pathname === '/worker/gpu0' && document.readyState === 'complete'")
	b.reads("busy for 30 %", "256 of 1,024 pages hold slots, 2 launches under way", "device time by queue")
	b.shot("worker")
	if len(b.thrown) > 0 {
		t.Errorf("the browser complains: %s", b.thrown)
	}
}

// The page does not change under a pressed mouse button, and keyboards and sideways scrolling keep their places.
func TestAnUpdateDisturbsNobody(t *testing.T) {
	source := manyQueues()
	s := serveOf(t, source)
	b := openBrowser(t)
	b.open(s.URL+"/", phone, false)
	shown := fmt.Sprintf("document.body.innerText.includes(%q)", "of 203 queues")
	b.evaluate("document.querySelector('.wide').scrollLeft = 100; document.querySelector('a[href=\"/queue/gpu0/jobs\"]').focus({preventScroll: true})")
	b.mouse("mousePressed", "h1")
	source.mu.Lock()
	source.view.Recommendation(source.now, "gpu0", "fresh", &telemetry.Header{Incarnation: 7}, &telemetry.Recommendation{Decision: 1, ValidForMs: 60_000})
	source.mu.Unlock()
	b.evaluate("new Promise((after) => { let n = 0; new EventSource('/events?of=/').onmessage = () => { if (++n === 3) after(); }; })")
	if b.evaluate(shown) == true {
		t.Error("the page changed under a pressed button")
	}
	b.evaluate("document.querySelector('a[href=\"/queue/gpu0/jobs\"]').focus({preventScroll: true})") // a press takes it away
	b.mouse("mouseReleased", "h1")
	b.await(shown)
	if b.evaluate("document.querySelector('.wide').scrollLeft === 100 && document.activeElement.getAttribute('href') === '/queue/gpu0/jobs'") != true {
		t.Errorf("scrolled to %v, at %v", b.evaluate("document.querySelector('.wide').scrollLeft"), b.evaluate("document.activeElement.outerHTML"))
	}
}

// manyQueues is a bus of 200 queues.
func manyQueues() *bus {
	b := newBus()
	for i := range 200 {
		b.view.Recommendation(b.now.Add(-time.Duration(i)*time.Second), "gpu"+fmt.Sprint(i%8), fmt.Sprint("queue-", i), &telemetry.Header{Incarnation: 7}, &telemetry.Recommendation{
			Decision: 3, ValidForMs: 120_000, QueueLen: uint32(i * 100), Topology: "none", ExecutionMode: "jit", LaunchMode: "wave", WorkgroupSizeX: 256, Groups: uint32(i),
			Reasons: []telemetry.Reason{{Rule: "mode_queue_len", Value: 300, Threshold: 4096}},
		})
	}
	b.view.Unheard([]string{"done records: this user may not subscribe ringmaster.v1.done.*.*"})
	return b
}

// A phone shows everything without scrolling sideways but in tables, and both schemes have contrast.
func TestThePagesAreReadable(t *testing.T) {
	s := serveOf(t, manyQueues())
	b := openBrowser(t)
	for _, wide := range []int{desktop, phone} {
		for _, dark := range []bool{false, true} {
			for name, path := range map[string]string{"fleet": "/", "queue": "/queue/gpu0/jobs", "worker": "/worker/gpu0", "none": "/queue/no/such"} {
				b.open(s.URL+path, wide, dark)
				if over := b.evaluate("document.documentElement.scrollWidth - window.innerWidth").(float64); over > 0 {
					t.Errorf("%s at %d: %v pixels too wide", path, wide, over)
				}
				if c := b.evaluate(contrast).(float64); c < 4.5 { // of WCAG 2.2, AA
					t.Errorf("%s, dark %v: contrast %.1f", path, dark, c)
				}
				b.shot(fmt.Sprintf("%s-%d-dark-%v", name, wide, dark))
			}
		}
	}
	b.open(s.URL+"/", desktop, false)
	b.await("performance.getEntriesByName('first-contentful-paint').length === 1")
	t.Logf("first content of 200 queues after %.0f ms", b.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
}

// contrast is the least of any text that is shown, by WCAG's relative luminance.
const contrast = `(() => {
	const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).map((v) => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
	const paper = light(getComputedStyle(document.body).backgroundColor);
	let least = 21;
	for (const e of document.querySelectorAll('body *:not(svg *)')) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
		const ink = light(getComputedStyle(e).color);
		least = Math.min(least, (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05));
	}
	return least;
})()`

// BenchmarkFleet is what one browser costs with each update of 200 queues.
func BenchmarkFleet(b *testing.B) {
	source := manyQueues()
	h := New(Config{Source: source})
	for b.Loop() {
		if body, _ := h.body(b.Context(), "/", ""); len(body) < 10_000 {
			b.Fatal(body)
		}
	}
}
