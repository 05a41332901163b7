// What an operation of HLO does, in a sentence: shown where a reader points at its line.
const MEANINGS = {
  abs: "the magnitude of each element", add: "elementwise sum", "after-all": "a token that comes after others: order, and no data", and: "elementwise and",
  "all-gather": "the pieces of all devices, one after the other, on each of them", "all-reduce": "the sum (or another reduction) over devices, on each of them",
  "async-start": "begins an operation that runs beside others", "async-done": "waits for an operation that runs beside others",
  atan2: "the angle of a point", "batch-norm-inference": "normalisation by a batch's mean and variance", bitcast: "the same bytes, read in another shape: nothing is moved",
  "bitcast-convert": "the same bits, read as another dtype", broadcast: "repeats a value along new axes", call: "runs another computation", cbrt: "the cube root",
  ceil: "rounds up", cholesky: "the Cholesky factor of a matrix", clamp: "limits each element to a range", compare: "elementwise comparison: bools",
  complex: "complex numbers of their parts", concatenate: "joins arrays along an axis", conditional: "runs one of several computations", constant: "numbers that are a part of the program",
  convert: "converts to another dtype", convolution: "a convolution, or a product of matrices on a TPU", copy: "moves a value: to another layout, or out of the way of a result that takes its memory",
  "copy-start": "begins to fetch a value, beside what runs", "copy-done": "waits until a value was fetched", cosine: "the cosine", "custom-call": "a kernel of a library, or of the compiler's own, under the name of its target",
  divide: "elementwise quotient", dot: "a product: sums over the contracting dimensions", "dynamic-slice": "a window of known size, at a position that is data",
  "dynamic-update-slice": "writes a window at a position that is data", exponential: "e to the power of each element", "exponential-minus-one": "exp(x) - 1, exact near zero",
  fft: "a Fourier transform", floor: "rounds down", fusion: "several operations as one kernel: what is between them never reaches memory. kLoop: an element at a time; kInput: around a reduction; kOutput: around a product; kCustom: by the compiler's own plan",
  gather: "elements at indices that are data", "get-tuple-element": "one of several results", imag: "the imaginary part", infeed: "data that the host sends", iota: "0, 1, 2, ... along an axis",
  "is-finite": "whether each element is neither infinite nor nan", log: "the logarithm", "log-plus-one": "log(1 + x), exact near zero", logistic: "1 / (1 + exp(-x))", map: "applies a computation to each element",
  maximum: "the larger of two, elementwise", minimum: "the smaller of two, elementwise", multiply: "elementwise product", negate: "the other sign", not: "elementwise not",
  "opt-barrier": "nothing is moved across: what is before is computed before", or: "elementwise or", outfeed: "data for the host", pad: "adds elements around, or between", parameter: "an argument of the computation",
  "partition-id": "the number of the device among those that share a program", popcnt: "the number of ones among the bits", power: "elementwise power", real: "the real part",
  reduce: "combines elements along axes with a computation: a sum, a maximum", "reduce-precision": "rounds as a smaller float would", "reduce-window": "combines the elements of each window", remainder: "what a division leaves, with the sign of the dividend",
  "replica-id": "the number of the device among copies", reshape: "the same elements in another shape", reverse: "the other way along axes", "rng-bit-generator": "random bits", "round-nearest-afz": "rounds, halves away from zero",
  "round-nearest-even": "rounds, halves to even numbers", rsqrt: "one by the square root", scatter: "writes, or adds, at indices that are data", select: "one of two, by a bool, elementwise", "select-and-scatter": "gives each window's value to the element that was chosen",
  "shift-left": "shifts bits to the left", "shift-right-arithmetic": "shifts bits to the right, keeps the sign", "shift-right-logical": "shifts bits to the right, zeros come in", sign: "-1, 0 or 1", sine: "the sine",
  slice: "a part of an array, at known positions", sort: "sorts along an axis", sqrt: "the square root", subtract: "elementwise difference", tan: "the tangent", tanh: "the hyperbolic tangent",
  topk: "the k largest elements", transpose: "another order of the axes", "triangular-solve": "solves with a triangular matrix", tuple: "several values as one result", while: "repeats a computation as long as a condition holds", xor: "elementwise exclusive or",
};
const OPCODE = /= (?:\([^=]*\)|\S+) ([a-z][a-z0-9-]*)\(/;

// For a line of HLO: `broadcast: repeats a value along new axes`, or null.
export function meaningOf(line) {
  const name = OPCODE.exec(line)?.[1];
  return name && Object.hasOwn(MEANINGS, name) ? `${name}: ${MEANINGS[name]}` : null;
}
