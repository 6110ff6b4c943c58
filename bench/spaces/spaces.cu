// Kernels with many parameters, whose configurations spaces.py compiles and times one by one. The
// parameters are macros: KERNEL is the kernel's number, SIZE that of its problem.

#if KERNEL == 0 // stencil: TT steps of heat conduction in one launch

#define OUT_X (BX * TLX)
#define OUT_Y (BY * TLY)
#define IN_X (OUT_X + 2 * TT)
#define IN_Y (OUT_Y + 2 * TT)

__device__ __forceinline__ size_t at(int x, int y) {
	return (size_t)min(max(y, 0), SIZE - 1) * SIZE + min(max(x, 0), SIZE - 1);
}

extern "C" __global__ void __launch_bounds__(BX * BY)
	run(const float *__restrict__ in, const float *__restrict__ power, float *__restrict__ out) {
	__shared__ float heat[2][IN_Y][IN_X];
#if SP
	__shared__ float near[IN_Y][IN_X];
#endif
	const int left = blockIdx.x * OUT_X - TT, top = blockIdx.y * OUT_Y - TT;
	for (int y = threadIdx.y; y < IN_Y; y += BY)
		for (int x = threadIdx.x; x < IN_X; x += BX) {
			heat[0][y][x] = in[at(left + x, top + y)];
#if SP
			near[y][x] = power[at(left + x, top + y)];
#endif
		}
	__syncthreads();
#if UN
#pragma unroll
#else
#pragma unroll 1
#endif
	for (int t = 0; t < TT; t++) {
		float(*now)[IN_X] = heat[t & 1], (*next)[IN_X] = heat[1 - (t & 1)];
		for (int y = threadIdx.y + t + 1; y < IN_Y - t - 1; y += BY)
			for (int x = threadIdx.x + t + 1; x < IN_X - t - 1; x += BX) {
#if SP
				float p = near[y][x];
#else
				float p = power[at(left + x, top + y)];
#endif
				float v = now[y][x];
				next[y][x] = v + .1f * (now[y - 1][x] + now[y + 1][x] - 2 * v) +
					.12f * (now[y][x - 1] + now[y][x + 1] - 2 * v) + .05f * (p + 80 - v);
			}
		__syncthreads();
	}
	for (int y = threadIdx.y + TT; y < IN_Y - TT; y += BY)
		for (int x = threadIdx.x + TT; x < IN_X - TT; x += BX)
			if (left + x < SIZE && top + y < SIZE)
				out[(size_t)(top + y) * SIZE + left + x] = heat[TT & 1][y][x];
}

#elif KERNEL == 1 // matrix: out = transposed(a) * b, by tiles of BM x BN

#define WM (BM / TX)
#define WN (BN / TY)
#define THREADS (TX * TY)

template <int V> struct wide;
template <> struct wide<1> { typedef float type; };
template <> struct wide<2> { typedef float2 type; };
template <> struct wide<4> { typedef float4 type; };

template <int V> __device__ __forceinline__ void copy(float *to, const float *from) {
	*(typename wide<V>::type *)to = *(const typename wide<V>::type *)from;
}

extern "C" __global__ void __launch_bounds__(THREADS)
	run(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ out) {
	__shared__ __align__(16) float sa[SA ? BK * BM : 4], sb[SB ? BK * BN : 4];
	const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * TX + tx;
	const int m0 = blockIdx.x * BM, n0 = blockIdx.y * BN;
	__align__(16) float sum[WN][WM];
#pragma unroll
	for (int j = 0; j < WN; j++)
#pragma unroll
		for (int i = 0; i < WM; i++) sum[j][i] = 0;
	for (int k0 = 0; k0 < SIZE; k0 += BK) {
		if (SA)
			for (int i = thread * VWM; i < BK * BM; i += THREADS * VWM)
				copy<VWM>(sa + i, a + (size_t)(k0 + i / BM) * SIZE + m0 + i % BM);
		if (SB)
			for (int i = thread * VWN; i < BK * BN; i += THREADS * VWN)
				copy<VWN>(sb + i, b + (size_t)(k0 + i / BN) * SIZE + n0 + i % BN);
		if (SA || SB) __syncthreads();
#pragma unroll 1
		for (int k = 0; k < BK; k++) {
			__align__(16) float x[WM], y[WN];
#pragma unroll
			for (int i = 0; i < WM / VWM; i++) {
				int m = (i * TX + tx) * VWM;
				copy<VWM>(x + i * VWM, SA ? sa + k * BM + m : a + (size_t)(k0 + k) * SIZE + m0 + m);
			}
#pragma unroll
			for (int j = 0; j < WN / VWN; j++) {
				int n = (j * TY + ty) * VWN;
				copy<VWN>(y + j * VWN, SB ? sb + k * BN + n : b + (size_t)(k0 + k) * SIZE + n0 + n);
			}
#pragma unroll
			for (int j = 0; j < WN; j++)
#pragma unroll
				for (int i = 0; i < WM; i++) sum[j][i] += x[i] * y[j];
		}
		if (SA || SB) __syncthreads();
	}
#pragma unroll
	for (int j = 0; j < WN; j++)
#pragma unroll
		for (int i = 0; i < WM / VWM; i++)
			copy<VWM>(out + (size_t)(n0 + (j / VWN * TY + ty) * VWN + j % VWN) * SIZE + m0 + (i * TX + tx) * VWM, &sum[j][i * VWM]);
}

#else // nbody: accelerations by all pairs

__device__ __forceinline__ float4 body(const float4 *__restrict__ rows, const float *__restrict__ columns, int i) {
	return AOS ? rows[i] : make_float4(columns[i], columns[SIZE + i], columns[2 * SIZE + i], columns[3 * SIZE + i]);
}

__device__ __forceinline__ void pull(float3 &sum, float4 me, float4 q) {
	float x = q.x - me.x, y = q.y - me.y, z = q.z - me.z;
	float inverse = rsqrtf(x * x + y * y + z * z + .01f), w = q.w * inverse * inverse * inverse;
	sum.x += w * x, sum.y += w * y, sum.z += w * z;
}

extern "C" __global__ void __launch_bounds__(BX)
	run(const float4 *__restrict__ rows, const float *__restrict__ columns, float4 *__restrict__ out) {
	const int thread = blockIdx.x * BX + threadIdx.x;
	const int first = STRIDE ? thread : thread * OUT, step = STRIDE ? SIZE / OUT : 1;
	float3 sum[OUT];
	float4 me[OUT];
#pragma unroll
	for (int o = 0; o < OUT; o++) sum[o] = make_float3(0, 0, 0), me[o] = body(rows, columns, first + o * step);
#if SM
	__shared__ float4 tile[BX * TL];
	for (int from = 0; from < SIZE; from += BX * TL) {
#pragma unroll
		for (int l = 0; l < TL; l++)
			tile[l * BX + threadIdx.x] = body(rows, columns, from + l * BX + threadIdx.x);
		__syncthreads();
#pragma unroll IN
		for (int j = 0; j < BX * TL; j++)
#pragma unroll
			for (int o = 0; o < OUT; o++) pull(sum[o], me[o], tile[j]);
		__syncthreads();
	}
#else
#pragma unroll IN
	for (int j = 0; j < SIZE; j++) {
		float4 q = body(rows, columns, j);
#pragma unroll
		for (int o = 0; o < OUT; o++) pull(sum[o], me[o], q);
	}
#endif
#pragma unroll
	for (int o = 0; o < OUT; o++) out[first + o * step] = make_float4(sum[o].x, sum[o].y, sum[o].z, 0);
}

#endif
