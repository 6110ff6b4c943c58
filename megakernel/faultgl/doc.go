// Package faultgl puts a layer that fails on purpose between an engine and its
// device, to test what happens when a GPU is reset or hangs. Real resets need a
// broken driver or a hostile shader; this layer makes each kind at a chosen
// dispatch of a device that is well.
//
// What a fault looks like from above is what drivers do. After a reset Check reports
// the loss for good, no dispatch reaches the device any more and reads leave what was
// there. A hang blocks whatever waits for the device.
package faultgl
