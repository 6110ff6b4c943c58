package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nkeys"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
	"ringmaster/telemetry/access"
	"ringmaster/telemetry/natsio/client"
)

// authCmd has the commands about the rights of NATS users.
type authCmd struct {
	Template authTemplateCmd `cmd:"" help:"Print users and their permissions for the configuration of a nats-server, or as commands of nsc."`
	Check    authCheckCmd    `cmd:"" help:"Try what the user of these credentials may do, and compare it with what its kind needs. Harmless on a server in use."`
}

// authTemplateCmd prints users with the permissions of their kinds.
type authTemplateCmd struct {
	Form         string   `enum:"conf,nsc" default:"conf" help:"conf: an authorization block for a server's configuration. nsc: commands for a server with accounts and JWTs."`
	Prefix       string   `env:"RINGMASTER_PREFIX" default:"ringmaster.v1" help:"Prefix of every subject."`
	Worker       []string `required:"" placeholder:"NAME" help:"Worker to make users for; may be given several times."`
	Queue        []string `placeholder:"NAME" help:"Queue that publishers, submitters and subscribers are for, each with users of its own (default: all queues of a worker); may be given several times."`
	Pool         string   `placeholder:"NAME" help:"Let the workers take work of this pool, and make a submitter to it for each queue."`
	NKeys        string   `name:"nkeys" placeholder:"DIR" help:"Make an NKey for each user, instead of passwords: seeds go to files in this directory, public keys into the configuration."`
	Account      string   `default:"RINGMASTER" help:"With --form nsc: the account that has the users."`
	Domain       string   `placeholder:"NAME" help:"JetStream domain through which the users reach the streams."`
	PrivateInbox bool     `name:"private-inboxes" help:"Let each user subscribe its own inboxes only, _INBOX.USER. Its commands then need --inbox-prefix _INBOX.USER."`
}

func (c *authTemplateCmd) Run(_ context.Context, std terminal.Stdio, _ *slog.Logger) error {
	fleet := access.Fleet{Subjects: telemetry.Subjects{Prefix: c.Prefix}, Workers: c.Worker, Queues: c.Queue, Pool: c.Pool, Domain: c.Domain, PrivateInboxes: c.PrivateInbox}
	users, err := fleet.Users()
	switch {
	case err != nil:
		return err
	case c.Form == "nsc" && c.NKeys != "":
		return fmt.Errorf("--nkeys is for --form conf: nsc keeps the keys of its users itself")
	case c.Form == "nsc" && !telemetry.ValidToken(c.Account):
		return fmt.Errorf("--account %q: use letters, digits, _ or -", c.Account)
	case c.Form == "nsc":
		fmt.Fprint(std.Out, access.NSC(users, c.Account))
		return nil
	case c.NKeys != "":
		if err := makeNKeys(users, c.NKeys); err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "the seeds of %d users are in %s; give each to its user alone, who connects with --nkey FILE\n", len(users), c.NKeys)
	}
	fmt.Fprint(std.Out, access.Conf(users))
	return nil
}

// makeNKeys makes a key for each user. A seed that is there is never replaced.
func makeNKeys(users []access.User, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := range users {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return fmt.Errorf("make an NKey: %w", err)
		}
		seed, err := pair.Seed()
		if err == nil {
			users[i].NKey, err = pair.PublicKey()
		}
		if err != nil {
			return fmt.Errorf("make an NKey: %w", err)
		}
		f, err := os.OpenFile(filepath.Join(dir, users[i].Name+".nk"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("%w; name an empty directory", err)
		}
		_, err = f.Write(append(seed, '\n'))
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// authCheckCmd tries the rights of a user.
type authCheckCmd struct {
	option.NATS
	Account string        `required:"" enum:"worker,decider,publisher,submitter,subscriber,operator" placeholder:"KIND" help:"Kind of the user: worker, decider, publisher, submitter, subscriber or operator."`
	Worker  string        `default:"${hostname}" help:"Worker that the user is for."`
	Queue   string        `default:"*" placeholder:"NAME" help:"Queue that the user is for."`
	Timeout time.Duration `default:"10s" help:"Longest wait for all of it."`
	JSON    bool          `name:"json" help:"Print one JSON object per act."`
}

// checkedAct is what became of one act.
type checkedAct struct {
	Act     string `json:"act"` // publish or subscribe
	Subject string `json:"subject"`
	Why     string `json:"why"`
	Wanted  bool   `json:"wanted"`  // the kind needs it
	Allowed bool   `json:"allowed"` // by the server
}

func (c *authCheckCmd) Run(ctx context.Context, std terminal.Stdio, _ *slog.Logger) error {
	kind, err := access.ParseKind(c.Account)
	if err != nil {
		return err
	}
	queue := c.Queue
	if queue == "*" {
		queue = access.Nobody
	}
	if err := option.ValidNames(c.Worker, queue); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	begin := time.Now()
	checked, err := c.try(ctx, kind)
	if err != nil {
		return err
	}
	took := time.Since(begin).Round(time.Millisecond)
	forbidden, wrong := c.print(std, checked)
	fmt.Fprintf(std.Err, "%d acts tried in %v, %d of them forbidden to this kind, %s; %d are not as they should be\n", len(checked), took, forbidden, kind, wrong)
	if wrong > 0 {
		return terminal.ExitCode(1)
	}
	return nil
}

// try tries all acts, publishing on one connection and subscribing on another.
func (c *authCheckCmd) try(ctx context.Context, kind access.Kind) (checked []checkedAct, err error) {
	scope := access.Scope{Subjects: telemetry.Subjects{Prefix: c.Prefix}, Worker: c.Worker, Queue: c.Queue}
	for _, subscribe := range []bool{false, true} {
		conn, err := c.Dial(ctx, "ringmaster auth check", slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		scope.Inbox, scope.Domain = conn.Inbox(), conn.Domain()
		acts := slices.DeleteFunc(access.Acts(kind, scope), func(a access.Act) bool { return a.Subscribe != subscribe })
		subjects := make([]string, len(acts))
		for i, a := range acts {
			subjects[i] = a.Subject
		}
		try, word := client.TryPublish, "publish"
		if subscribe {
			try, word = client.TrySubscribe, "subscribe"
		}
		refused, err := try(ctx, conn, subjects)
		if err != nil {
			return nil, err
		}
		for _, a := range acts {
			checked = append(checked, checkedAct{word, a.Subject, a.Why, a.Allowed, refused[a.Subject] == nil && refused[a.Translated] == nil})
		}
	}
	return checked, nil
}

// print prints what became of the acts, and returns how many are forbidden and how many are
// not as they should be.
func (c *authCheckCmd) print(std terminal.Stdio, checked []checkedAct) (forbidden, wrong int) {
	rows := make([][]string, 0, len(checked))
	for _, a := range checked {
		verdict := "refused"
		if a.Allowed {
			verdict = "allowed"
		}
		good := "good"
		if a.Allowed != a.Wanted {
			good = "BAD"
			wrong++
		}
		if !a.Wanted {
			forbidden++
		}
		rows = append(rows, []string{good, verdict, a.Act, a.Subject, a.Why})
		if c.JSON {
			_ = text.JSON(std.Out, a) // as every print here
		}
	}
	if !c.JSON {
		fmt.Fprint(std.Out, text.Table([]string{"IS", "THE SERVER", "ACT", "SUBJECT", "WHAT FOR"}, rows))
	}
	return forbidden, wrong
}
