// Package debugview draws what the slots of a ring do, as a picture in the window.
package debugview
