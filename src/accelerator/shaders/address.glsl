// Addresses of 64 bits as two words, the lower first.

// Returns the address `bytes` bytes further on. Reads at constant indices from there need no
// address arithmetic of their own.
uvec2 forward(uvec2 address, uint bytes) {
  uint carry;
  const uint low = uaddCarry(address.x, bytes, carry);
  return uvec2(low, address.y + carry);
}

// Returns the address i times `bytes` bytes further on, which may be more than 4 GiB.
uvec2 far(uvec2 address, uint i, uint bytes) {
  uint high, low;
  umulExtended(i, bytes, high, low);
  return forward(uvec2(address.x, address.y + high), low);
}
