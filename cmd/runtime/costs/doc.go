// Package costs estimates what launches take from those that were measured: a line of time over slots for
// each way of launching, and how sure a number is that was made from a series of launches. Pure.
package costs
