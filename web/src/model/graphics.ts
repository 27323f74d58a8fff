// What draws WebGL, by the name that a browser gives it.

const BY_PROCESSOR = /swiftshader|llvmpipe|softpipe|software|microsoft basic render/i;

// Whether that is the processor, playing a graphics card. It takes about four times the work of drawing without WebGL.
export function isPlayed(renderer: string): boolean {
  return BY_PROCESSOR.test(renderer);
}
