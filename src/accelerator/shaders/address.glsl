// Addresses of 64 bits as two words, the lower first.

// Returns the address that is `bytes` bytes after `address`. Reads at constant indices from there
// need no further arithmetic with addresses.
uvec2 forward(uvec2 address, uint bytes) {
  uint carry;
  const uint low = uaddCarry(address.x, bytes, carry);
  return uvec2(low, address.y + carry);
}

// Returns the address that is i times `bytes` bytes after `address`. The distance may be more than
// 4 GiB.
uvec2 far(uvec2 address, uint i, uint bytes) {
  uint high, low;
  umulExtended(i, bytes, high, low);
  return forward(uvec2(address.x, address.y + high), low);
}
