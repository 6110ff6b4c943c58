package main

import (
	"fmt"
	"os/exec"
	"strings"
)

// network gives every server a network namespace of its own, on one bridge with whoever else runs here. What a
// namespace loses is dropped at its input by nftables; that takes root, and the commands ip and nft.
type network struct {
	namespaces []string
}

const (
	bridge = "rmfleet"
	subnet = "10.213.7."
)

// newNetwork makes the namespaces. It is closed by the caller, on an error too.
func newNetwork(servers int) (*network, error) {
	n := &network{}
	err := do("ip link add "+bridge+" type bridge", "ip addr add "+subnet+"1/24 dev "+bridge, "ip link set "+bridge+" up")
	for i := 0; i < servers && err == nil; i++ {
		ns, link := fmt.Sprint(bridge, i), outside(i)
		n.namespaces = append(n.namespaces, ns)
		in := "ip netns exec " + ns + " "
		err = do(
			"ip netns add "+ns, "ip link add "+link+" type veth peer name eth0 netns "+ns, "ip link set "+link+" master "+bridge+" up",
			in+"ip addr add "+n.address(i)+"/24 dev eth0", in+"ip link set eth0 up", in+"ip link set lo up",
			in+"nft add table inet cut", in+"nft add chain inet cut in { type filter hook input priority 0 ; }",
		)
	}
	return n, err
}

// outside is a server's end of its link at the bridge.
func outside(server int) string { return fmt.Sprint("rmf", server) }

// address is where a server is reached.
func (n *network) address(server int) string { return fmt.Sprint(subnet, 10+server) }

// inside is what a command of a server begins with.
func (n *network) inside(server int) []string {
	return []string{"ip", "netns", "exec", n.namespaces[server]}
}

// lose has a server lose what a rule of nftables matches.
func (n *network) lose(server int, rule string) error {
	return do(strings.Join(n.inside(server), " ") + " nft add rule inet cut in " + rule + " drop")
}

// heal ends what a server loses.
func (n *network) heal(server int) error {
	return do(strings.Join(n.inside(server), " ") + " nft flush chain inet cut in")
}

func (n *network) close() {
	for i, ns := range n.namespaces { // the link first: a namespace ends some time after it was deleted
		_ = do("ip link del " + outside(i))
		_ = do("ip netns del " + ns)
	}
	_ = do("ip link del " + bridge)
}

// do runs commands, whose arguments are separated by spaces, until one fails.
func do(commands ...string) error {
	for _, c := range commands {
		words := strings.Fields(c)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
