// Package listen hears the bus for a fleetview.View: it subscribes what the user may hear, asks runtimes and streams
// now and then, and says what it is not told. It publishes nothing but requests.
package listen
