// The D3Q19 lattice: 19 velocities, the equilibrium, and the collision with two relaxation times.
#ifndef BLOODFLOW_LATTICE_HPP
#define BLOODFLOW_LATTICE_HPP

#include <array>
#include <cmath>

namespace bloodflow {

constexpr int directions = 19;

struct Velocity {
  int x, y, z;
};

// Two that follow each other are opposite.
constexpr std::array<Velocity, directions> velocities = {{{0, 0, 0},
                                                          {1, 0, 0},
                                                          {-1, 0, 0},
                                                          {0, 1, 0},
                                                          {0, -1, 0},
                                                          {0, 0, 1},
                                                          {0, 0, -1},
                                                          {1, 1, 0},
                                                          {-1, -1, 0},
                                                          {1, -1, 0},
                                                          {-1, 1, 0},
                                                          {1, 0, 1},
                                                          {-1, 0, -1},
                                                          {1, 0, -1},
                                                          {-1, 0, 1},
                                                          {0, 1, 1},
                                                          {0, -1, -1},
                                                          {0, 1, -1},
                                                          {0, -1, 1}}};

constexpr int opposite(int direction) {
  return direction == 0 ? 0 : (direction % 2 == 1 ? direction + 1 : direction - 1);
}

constexpr double weight(int direction) {
  return direction == 0 ? 1.0 / 3 : (direction < 7 ? 1.0 / 18 : 1.0 / 36);
}

struct Vector {
  double x = 0, y = 0, z = 0;
};

constexpr double dot(const Velocity& c, const Vector& u) {
  return c.x * u.x + c.y * u.y + c.z * u.z;
}
constexpr double dot(const Vector& a, const Vector& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

// Density and velocity of one site, from its 19 values. They are the same before and after a collision.
struct Moments {
  double density = 0;
  Vector velocity;
};

inline Moments moments(const double* f) {
  Moments m;
  const double faces = (f[1] + f[2]) + (f[3] + f[4]) + (f[5] + f[6]);
  const double in_xy = (f[7] + f[8]) + (f[9] + f[10]);
  const double in_xz = (f[11] + f[12]) + (f[13] + f[14]);
  const double in_yz = (f[15] + f[16]) + (f[17] + f[18]);
  m.density = f[0] + faces + in_xy + in_xz + in_yz;
  const double share = 1 / m.density;
  m.velocity.x = share * ((f[1] - f[2]) + (f[7] - f[8]) + (f[9] - f[10]) + (f[11] - f[12]) + (f[13] - f[14]));
  m.velocity.y = share * ((f[3] - f[4]) + (f[7] - f[8]) - (f[9] - f[10]) + (f[15] - f[16]) + (f[17] - f[18]));
  m.velocity.z = share * ((f[5] - f[6]) + (f[11] - f[12]) - (f[13] - f[14]) + (f[15] - f[16]) - (f[17] - f[18]));
  return m;
}

// Relaxation rates. The even one sets the viscosity, (1 / even - 1 / 2) / 3; the odd one keeps the walls in place
// (Ginzburg, Verhaeghe and d'Humieres 2008: their product "magic parameter" is 3/16).
struct Relaxation {
  double even, odd;
  explicit Relaxation(double viscosity)
      : even(1 / (3 * viscosity + 0.5)), odd(1 / (0.5 + 3.0 / 16 / (3 * viscosity))) {}
};

// Computes f after a collision into `out`, for one pair of opposite directions after another.
inline void collide(const double* f, double* out, const Relaxation& rates) {
  const Moments m = moments(f);
  const Vector& u = m.velocity;
  const double rest = 1 - 1.5 * dot(u, u);
  out[0] = f[0] - rates.even * (f[0] - weight(0) * m.density * rest);
  const double speeds[9] = {u.x, u.y, u.z, u.x + u.y, u.x - u.y, u.x + u.z, u.x - u.z, u.y + u.z, u.y - u.z};
  for (int pair = 0; pair < 9; ++pair) {
    const int i = 2 * pair + 1;
    const double share = (pair < 3 ? weight(1) : weight(7)) * m.density;
    const double even = rates.even * (0.5 * (f[i] + f[i + 1]) - share * (rest + 4.5 * speeds[pair] * speeds[pair]));
    const double odd = rates.odd * (0.5 * (f[i] - f[i + 1]) - share * 3 * speeds[pair]);
    out[i] = f[i] - even - odd;
    out[i + 1] = f[i + 1] - even + odd;
  }
}

// Returns the traction on a wall with that normal, without its part along the normal: the wall shear, in units of the
// lattice. f: values after a collision.
inline double wall_shear(const double* f, const Vector& normal, const Relaxation& rates) {
  const Moments m = moments(f);
  const double square = 1.5 * dot(m.velocity, m.velocity);
  Vector traction;
  for (int i = 1; i < directions; ++i) {
    const double along = 3 * dot(velocities[i], m.velocity);
    const double rest = f[i] - weight(i) * m.density * (1 + along + 0.5 * along * along - square);
    const double part = rest * dot(velocities[i], normal);
    traction.x += velocities[i].x * part;
    traction.y += velocities[i].y * part;
    traction.z += velocities[i].z * part;
  }
  // A collision multiplies what is not in equilibrium by 1 - even.
  const double scale = -(1 - 0.5 * rates.even) / (1 - rates.even);
  const double outward = dot(traction, normal);
  const Vector shear = {traction.x - outward * normal.x, traction.y - outward * normal.y,
                        traction.z - outward * normal.z};
  return std::abs(scale) * std::sqrt(dot(shear, shear));
}

}  // namespace bloodflow

#endif
