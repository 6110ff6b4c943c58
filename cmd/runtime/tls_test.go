package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	key  *ecdsa.PrivateKey
	self *x509.Certificate
	file string // its own certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.self = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.file, _, a.key = a.write("authority", a.self, nil)
	return a
}

// issue makes a certificate for a host that is 127.0.0.1 by its address, and a client.
func (a *authority) issue(name string, life time.Duration) (cert, key string) {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(life),
		DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, key, _ = a.write(name+fmt.Sprint(template.SerialNumber), template, a.key)
	return cert, key
}

func (a *authority) write(name string, template *x509.Certificate, signer *ecdsa.PrivateKey) (cert, key string, private *ecdsa.PrivateKey) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if signer == nil {
		signer = private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.self, &private.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, key = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return cert, key, private
}

// natsContext writes a context of the nats command.
func natsContext(t *testing.T, fields map[string]string) (file string) {
	t.Helper()
	text, err := json.Marshal(fields)
	file = filepath.Join(t.TempDir(), "context.json")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A certificate that is not to be trusted, of the server or of the client, is said to be the reason, by every command.
func TestEveryCommandSaysWhatIsWrongWithACertificate(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	server := func(cert, key string) string {
		conf := fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\njetstream { store_dir: %q }\n", cert, key, ours.file, t.TempDir())
		_, port, _ := strings.Cut(startConf(t, new(violations), conf).ClientURL(), "127.0.0.1:")
		return "tls://localhost:" + port
	}
	good := server(ours.issue("localhost", time.Hour))
	cert, key := ours.issue("client", time.Hour)
	login := func(url, ca, cert, key string) []string {
		return []string{"--context", natsContext(t, map[string]string{"url": url, "ca": ca, "cert": cert, "key": key})}
	}
	if got := ringmaster(t, t.Context(), "", append([]string{"doctor", "--no-gpu"}, login(good, ours.file, cert, key)...)...); got.code != 0 {
		t.Fatalf("with all that is needed: exit code %d, %s", got.code, got.stdout)
	}
	expiredCert, expiredKey := ours.issue("client", -time.Hour)
	strangeCert, strangeKey := theirs.issue("client", time.Hour)
	for name, c := range map[string]struct {
		login []string
		words string
	}{
		"an expired server":       {login(server(ours.issue("localhost", -time.Hour)), ours.file, cert, key), "expired"},
		"another authority":       {login(good, theirs.file, cert, key), "unknown authority"},
		"another name":            {login(server(ours.issue("elsewhere", time.Hour)), ours.file, cert, key), "elsewhere"},
		"no client certificate":   {login(good, ours.file, "", ""), "check the certificate and the key of this client"},
		"an expired client":       {login(good, ours.file, expiredCert, expiredKey), "check the certificate and the key of this client"},
		"a client of another":     {login(good, ours.file, strangeCert, strangeKey), "check the certificate and the key of this client"},
		"no authority to compare": {login(good, "", cert, key), "unknown authority"},
	} {
		allRefused(t, name, c.words, c.login...)
	}
}
