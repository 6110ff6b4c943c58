package natsio

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// A runtime publishes an answer with its own rights, on a subject that the requester chose. So it
// answers below configured prefixes of inboxes only: a requester could otherwise have it write
// where the requester itself may not.

const (
	// usualInbox is what the inboxes of NATS clients begin with, unless they are told otherwise.
	usualInbox = "_INBOX"
	// importedReply is what a server puts in place of the reply subject of a request that crosses
	// accounts. A server lets no client send one.
	importedReply = "_R_."
	// maxReply bounds reply subjects. Inboxes of clients have about 50 bytes.
	maxReply = 256
)

var errNoInbox = errors.New("the reply subject is not an inbox that this runtime answers (--reply-prefix); nothing was done, nothing is sent there")

// checkInbox refuses what cannot begin inboxes: a runtime that answers there would write on its
// own subjects, or on those of the server's interface.
func (c *Config) checkInbox(prefix string) error {
	root := c.Subjects.Root() + "."
	switch at := prefix + "."; {
	case strings.HasPrefix(at, ".") || strings.Contains(at, "..") || strings.ContainsAny(at, "*> \t\r\n") || len(at) > maxReply/2:
		return fmt.Errorf("inbox prefix %q is no subject, or has wildcards", prefix)
	case at[0] == '$' || strings.HasPrefix(at, root) || strings.HasPrefix(root, at):
		return fmt.Errorf("inbox prefix %q holds other subjects than inboxes", prefix)
	}
	return nil
}

// answered are the beginnings of reply subjects that a connection answers.
func (c *Config) answered(own string) []string {
	prefixes := slices.Clone(c.ReplyPrefixes)
	if len(prefixes) == 0 {
		prefixes = []string{usualInbox}
	}
	for i := range prefixes {
		prefixes[i] += "."
	}
	return append(prefixes, own+".", importedReply)
}

// answerable reports whether answers may be sent to a reply subject.
func (c *Conn) answerable(reply string) bool {
	if len(reply) > maxReply || strings.ContainsAny(reply, "*> \t\r\n") {
		return false
	}
	for _, prefix := range c.replies {
		if len(reply) > len(prefix) && strings.HasPrefix(reply, prefix) {
			return true
		}
	}
	return false
}

// MayAnswer reports whether a request may be answered at its reply subject. If somebody waits for the answer where none is
// sent, the request is refused.
func (c *Conn) MayAnswer(m *nats.Msg) bool {
	if m.Reply == "" || c.answerable(m.Reply) {
		return m.Reply != ""
	}
	_, worker, queue, err := c.cfg.Subjects.Parse(m.Subject)
	if err != nil { // of a subject without names too
		worker, queue = "", ""
	}
	c.reject.report(refusal{worker: worker, queue: queue, subject: m.Subject, reason: ReasonBadReply, cause: errNoInbox, size: len(m.Data)})
	return false
}
