package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"ringmaster/cmd/runtime/health"
)

// Health is an answer of /livez and /readyz as JSON.
type Health struct {
	OK      bool            `json:"ok"`
	Reasons []health.Reason `json:"reasons"` // empty if OK
}

// answer says whether nothing is wrong, by the status code, and what is: a line each, or as JSON for who asks for it.
func answer(word string, ask func() []health.Reason) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reasons := ask()
		code := http.StatusOK
		if len(reasons) > 0 {
			code = http.StatusServiceUnavailable
		}
		w.Header().Set("Cache-Control", "no-store")
		if r.URL.Query().Get("format") == "json" || strings.Contains(r.Header.Get("Accept"), "application/json") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(Health{len(reasons) == 0, append([]health.Reason{}, reasons...)})
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		if len(reasons) == 0 {
			fmt.Fprintln(w, word)
			return
		}
		fmt.Fprintln(w, "not", word)
		for _, reason := range reasons {
			fmt.Fprintf(w, "%s: %s\n", reason.Code, reason.Text)
		}
	})
}
