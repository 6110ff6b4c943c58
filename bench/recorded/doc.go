// Package recorded reads recordings of tuning spaces, with which searches are compared, from
// their CSV form, plain or compressed:
//
//	# convolution_kernel on NVIDIA RTX A4000; free text
//	block_size_x,block_size_y,use_padding,mean_ms,min_ms,median_ms,max_ms
//	16,1,0,5.90049,5.22035,6.01382,6.21466
//	16,1,1,,,,
//
// Columns called mean_ms, min_ms, median_ms, max_ms or std_ms are measurements; case
// does not matter, and the unit may be another unit of time. The mean must be there
// and is the cost. Every other column is a parameter. A row whose mean is empty, or a
// word such as NaN, inf, failed or InvalidConfig, is a configuration that fails to
// build or run. A parameter whose values are all numbers is ordered by number, any
// other by text. Comment lines begin with '#'; a byte order mark is skipped.
//
// A recording belongs to a kernel and a device. The first comment of the form
// "KERNEL on DEVICE", which ends at ';' or at the end of the line, names them. Without
// one the name of the file does, without its extensions and split at the last '-':
// convolution-a4000.csv.gz is kernel convolution on device a4000.
package recorded
