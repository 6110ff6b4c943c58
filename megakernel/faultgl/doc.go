// Package faultgl puts a layer that fails on purpose between an engine and its
// device, to test what happens when a GPU is reset or hangs. Real resets need a
// broken driver or a hostile shader; this layer makes each kind at a chosen
// dispatch of a device that is well.
//
// What a fault looks like from above is what drivers do. After a reset the status
// names its kind, Check reports the loss for good, nothing reaches the device any
// more and reads leave what was there. A hang blocks whatever waits for the device.
// Garbage is a status that OpenGL does not define, from a device that is well.
package faultgl
