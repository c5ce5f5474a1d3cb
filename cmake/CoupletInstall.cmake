# cmake --install: headers, libraries, helper programs. (The package files follow with the languages.)
set_property(TARGET couplet PROPERTY INSTALL_RPATH "$ORIGIN")
install(TARGETS couplet LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
