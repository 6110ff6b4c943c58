// Package zmtp subscribes to a ZeroMQ PUB socket: the part of ZMTP 3.0
// (https://rfc.zeromq.org/spec/23/) that a SUB socket needs, with the NULL mechanism, over
// TCP or a Unix socket. Whatever the peer sends, a connection takes bounded memory.
package zmtp
