package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"ringmaster/cmd/runtime/option"
	"ringmaster/telemetry/access"
)

// clientCommands are all commands that connect as clients, with what they need but a server.
var clientCommands = []string{
	"publish --worker w1 --queue q", "watch --count 1", "submit --worker w1 --queue q --slots nop", "cancel b1 --worker w1 --queue q",
	"heap download 0:4 --worker w1 --queue q", "graph list --worker w1 --queue q", "replay --stream", "auth check --account operator",
}

// allRefused runs all client commands with a login that the server refuses.
func allRefused(t *testing.T, name, words string, login ...string) {
	t.Helper()
	for _, command := range clientCommands {
		begin := time.Now()
		got := ringmaster(t, t.Context(), `{"kind":"queue","queue_len":1}`, append(strings.Fields(command), login...)...)
		if got.code != exitRefused || !strings.Contains(got.err, "NATS refuses this login") || !strings.Contains(got.err, words) {
			t.Errorf("%s: %s: exit code %d, %s", name, command, got.code, got.err)
		}
		if took := time.Since(begin); took > option.DialPatience {
			t.Errorf("%s: %s took %v", name, command, took)
		}
	}
	if got := ringmaster(t, t.Context(), "", append([]string{"doctor", "--no-gpu"}, login...)...); got.code != doctorNoNATS || !strings.Contains(got.stdout, words) || strings.Contains(got.stdout, "start one") {
		t.Errorf("%s: doctor: exit code %d, %s", name, got.code, got.stdout)
	}
}

func TestEveryCommandSaysThatItsLoginIsRefused(t *testing.T) {
	s := startConf(t, new(violations), "authorization { users = [ { user: alice, password: right } ] }")
	allRefused(t, "a wrong password", "check the user, the password", "--nats", strings.Replace(s.ClientURL(), "//", "//alice:wrong@", 1))
	allRefused(t, "no password", "check the user, the password", "--nats", s.ClientURL())
	g, stranger := guard(t, asPrinted), guard(t, asPrinted)
	key := filepath.Join(stranger.keys, "operator.nk")
	allRefused(t, "an NKey that the server does not know", "check the user, the password", "--nats", g.url, "--nkey", key)
	allRefused(t, "an NKey where passwords are wanted", "check the user, the password", "--nats", s.ClientURL(), "--nkey", key)
}

// issuer makes users of one account, as nsc does.
type issuer struct {
	t       *testing.T
	account nkeys.KeyPair
	conf    string // of a server that trusts it
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	operator, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	operatorKey, _ := operator.PublicKey()
	self, err := jwt.NewOperatorClaims(operatorKey).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	account := func(store int64) (pair nkeys.KeyPair, key, token string) {
		if pair, err = nkeys.CreateAccount(); err != nil {
			t.Fatal(err)
		}
		key, _ = pair.PublicKey()
		claims := jwt.NewAccountClaims(key)
		claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: store, Streams: -1, Consumer: -1}
		if token, err = claims.Encode(operator); err != nil {
			t.Fatal(err)
		}
		return pair, key, token
	}
	_, system, systemToken := account(0)
	users, key, token := account(4 << 30)
	return &issuer{t: t, account: users, conf: fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\njetstream { store_dir: %q }\n",
		self, system, system, systemToken, key, token, t.TempDir())}
}

// creds is a credentials file of a user with the rights of a kind, which expires.
func (i *issuer) creds(kind access.Kind, life time.Duration) string {
	i.t.Helper()
	return i.credsOf(kind, access.Scope{Worker: "w1", Queue: "q"}, life)
}

// credsOf is creds for names of the caller's.
func (i *issuer) credsOf(kind access.Kind, scope access.Scope, life time.Duration) string {
	i.t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		i.t.Fatal(err)
	}
	public, _ := pair.PublicKey()
	seed, _ := pair.Seed()
	claims := jwt.NewUserClaims(public)
	claims.Expires = time.Now().Add(life).Unix()
	for _, r := range access.Of(kind, scope) {
		if r.Publish {
			claims.Pub.Allow.Add(r.Subject)
		}
		if r.Subscribe {
			claims.Sub.Allow.Add(r.Subject)
		}
	}
	token, err := claims.Encode(i.account)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		i.t.Fatal(err)
	}
	file := filepath.Join(i.t.TempDir(), "user.creds")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		i.t.Fatal(err)
	}
	return file
}

// Users with JWTs, which carry the rights that the commands for nsc give them, are let in until they expire.
func TestCredentialsAreHeldToTheirRightsUntilTheyExpire(t *testing.T) {
	i := newIssuer(t)
	withoutStreams, _, _ := strings.Cut(i.conf, "jetstream {")
	short := startConf(t, new(violations), withoutStreams)
	long := i.credsOf(access.Worker, access.Scope{Worker: strings.Repeat("w", 64), Queue: "q"}, time.Hour)
	if got := ringmaster(t, t.Context(), "", "watch", "--count", "1", "--nats", short.ClientURL(), "--creds", long); got.code != exitRefused || !strings.Contains(got.err, "max_control_line: 16KB") {
		t.Errorf("a long JWT: %+v", got)
	}
	s := startConf(t, new(violations), i.conf+"max_control_line: 16KB\n")
	for _, kind := range access.Kinds() {
		got := ringmaster(t, t.Context(), "", "auth", "check", "--account", kind.String(), "--worker", "w1", "--queue", "q", "--nats", s.ClientURL(), "--creds", i.creds(kind, time.Hour))
		if got.code != 0 {
			t.Errorf("%v: exit code %d, %s%s", kind, got.code, got.err, bad(got.stdout))
		}
	}
	allRefused(t, "expired credentials", "check the user, the password or the credentials file", "--nats", s.ClientURL(), "--creds", i.creds(access.Operator, -time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := ringmaster(t, ctx, "", "watch", "--nats", s.ClientURL(), "--creds", i.creds(access.Operator, 2*time.Second)) // a JWT has whole seconds
	if got.code != exitRefused || !strings.Contains(got.err, "NATS refuses this login") {
		t.Errorf("credentials that expire meanwhile: exit code %d, %s", got.code, got.err)
	}
}
