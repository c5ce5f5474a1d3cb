#include "calls.hpp"
#include "halos.hpp"

NB_MODULE(_couplet, module) {
  module.doc() = "The C interface of Couplet for Python; use the package couplet.";
  couplet_python::remember_main_thread();
  couplet_python::bind_messages(module);
  couplet_python::bind_collectives(module);
  couplet_python::bind_coalesce(module);
  couplet_python::bind_exchanges(module);
  couplet_python::bind_halos(module);
  couplet_python::bind_series(module);
  couplet_python::bind_tasks(module);
  couplet_python::bind_areas(module);
  couplet_python::bind_universe(module);
  couplet_python::bind_waiting(module);
}
