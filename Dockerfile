# broker-sim in a container: three brokers on ports 9092 to 9094, as an unprivileged user.
#   docker build -t broker-sim .
#   docker run --rm -p 9092-9094:9092-9094 broker-sim
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/broker-sim && /opt/broker-sim/bin/pip install --no-cache-dir '.[tls]'

FROM python:3.13-slim
COPY --from=build /opt/broker-sim /opt/broker-sim
ENV PATH=/opt/broker-sim/bin:$PATH
# A number, so that Kubernetes can verify that it is not root.
USER 10001
EXPOSE 9092 9093 9094 8090
HEALTHCHECK --interval=2s --timeout=3s --start-period=10s --retries=3 \
  CMD ["python", "-c", "import socket; socket.create_connection(('localhost', 9092), 2).close()"]
ENTRYPOINT ["broker-sim"]
# Binds all addresses of the container and advertises localhost, to which the ports are published.
CMD ["serve", "--host", "localhost", "-o", "listeners=PLAINTEXT://:9092"]
