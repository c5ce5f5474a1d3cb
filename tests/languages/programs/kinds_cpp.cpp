// Every element type in C++, series and messages, in one process; see test_kinds.py.
#include <complex>
#include <couplet/couplet.hpp>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void require(bool condition, const std::string& what) {
  if (!condition) {
    throw std::runtime_error("not true: " + what);
  }
}

template <class T>
void try_type(couplet::Universe& universe, const std::string& name) {
  const std::vector<std::int64_t> shape{3, 2};
  std::vector<T> values(6);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(static_cast<unsigned char>(i + 1));
  }
  auto writer = universe.create_series<T>(name, shape, {{0, 0}, shape}, {.slots = 2});
  auto reader = universe.open_series<T>(name, {.box = couplet::Box{{1, 0}, {3, 1}}});
  require(writer.put(values, 7), name + ": put");
  const couplet::Batch<T> batch = reader.read();
  require(batch.size() == 1 && batch.steps()[0] == 7 && batch[0][0] == values[2] && batch[0][1] == values[4], name);
  const couplet::SeriesInfo info = reader.describe();
  require(info.type == couplet::type_of<T> && info.shape == shape && info.box.start[0] == 1 && info.name == name, name);
  require(couplet_type_bytes(couplet::type_of<T>) == sizeof(T), name + ": size");

  const couplet::Group group = universe.group();
  std::vector<T> received(6);
  couplet::Request request = group.irecv(std::span<T>(received), 0, 3);
  group.send(values, 0, 3);
  require(request.wait().count == 6 && received == values, name + ": message");
}

}  // namespace

int main() {
  try {
    couplet::Universe universe = couplet::join("solo");
    try_type<std::byte>(universe, "byte");
    try_type<std::int8_t>(universe, "int8");
    try_type<std::int16_t>(universe, "int16");
    try_type<std::int32_t>(universe, "int32");
    try_type<std::int64_t>(universe, "int64");
    try_type<std::uint8_t>(universe, "uint8");
    try_type<std::uint16_t>(universe, "uint16");
    try_type<std::uint32_t>(universe, "uint32");
    try_type<std::uint64_t>(universe, "uint64");
    try_type<float>(universe, "float");
    try_type<double>(universe, "double");
    try_type<std::complex<float>>(universe, "complex float");
    try_type<std::complex<double>>(universe, "complex double");
    universe.leave();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  std::cout << "cpp: all types\n";
  return 0;
}
