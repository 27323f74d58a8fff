// What draws WebGL, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isPlayed } from "../.test/model/graphics.js";

test("a graphics card that the processor plays is told from a real one", () => {
  const played = [
    "ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero) (0x0000C0DE)), SwiftShader driver)",
    "llvmpipe (LLVM 15.0.6, 256 bits)",
    "ANGLE (Mesa, llvmpipe (LLVM 15.0.6 256 bits), OpenGL 4.5)",
    "ANGLE (Microsoft, Microsoft Basic Render Driver (0x0000008C) Direct3D11 vs_5_0 ps_5_0, D3D11)",
    "Apple Software Renderer",
  ];
  const real = [
    "ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 (0x00002503) Direct3D11 vs_5_0 ps_5_0, D3D11)",
    "ANGLE (Apple, ANGLE Metal Renderer: Apple M2, Unspecified Version)",
    "Mesa Intel(R) UHD Graphics 620 (KBL GT2)",
    "WebKit WebGL",
    "",
  ];
  assert.deepEqual(played.filter((name) => !isPlayed(name)), []);
  assert.deepEqual(real.filter(isPlayed), []);
});
