#version 430 core
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Out { uint value; };

void main() {
    uint fine = 1u;
    value = fine + undeclared_name;
}
