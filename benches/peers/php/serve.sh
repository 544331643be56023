#!/bin/sh
# Serves index.php by php-fpm behind nginx, on the port PORT of 127.0.0.1. With the word `check`, only tests whether all
# that it needs is installed.
set -eu

PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "$0")" && pwd)
fpm=
for program in php-fpm $(ls /usr/sbin 2>/dev/null | grep '^php-fpm' || true); do
    ! command -v "$program" >/dev/null || fpm=$program
done
[ -n "$fpm" ] && command -v nginx >/dev/null && "$fpm" -m | grep -qx redis || exit 1
[ "${1-}" != check ] || exit 0

work=$(mktemp -d)
fpm_user= nginx_user=
if [ "$(id -u)" = 0 ]; then fpm_user="user = root" nginx_user="user root;"; fi

cat >"$work/fpm.conf" <<END
[global]
error_log = $work/fpm.log
daemonize = no
[peers]
$fpm_user
listen = $work/fpm.sock
pm = static
pm.max_children = $WORKERS
clear_env = no
END

cat >"$work/nginx.conf" <<END
$nginx_user
daemon off;
pid $work/nginx.pid;
error_log $work/nginx.log;
events {}
http {
    access_log off;
    client_body_temp_path $work/body;
    fastcgi_temp_path $work/fastcgi;
    proxy_temp_path $work/proxy;
    scgi_temp_path $work/scgi;
    uwsgi_temp_path $work/uwsgi;
    keepalive_requests 1000000000;
    server {
        listen 127.0.0.1:$PORT;
        location / {
            fastcgi_pass unix:$work/fpm.sock;
            fastcgi_buffers 16 16k;
            fastcgi_param SCRIPT_FILENAME $here/index.php;
            fastcgi_param REQUEST_METHOD \$request_method;
            fastcgi_param CONTENT_TYPE \$content_type;
            fastcgi_param CONTENT_LENGTH \$content_length;
            fastcgi_param HTTP_AUTHORIZATION \$http_authorization;
        }
    }
}
END

"$fpm" -R -y "$work/fpm.conf" -d opcache.enable=1 -d opcache.validate_timestamps=0 >/dev/null 2>&1 &
fpm_process=$!
nginx -e "$work/nginx.log" -c "$work/nginx.conf" >/dev/null &
nginx_process=$!
trap 'kill $fpm_process $nginx_process; wait; rm -rf "$work"; exit' TERM INT
until [ -S "$work/fpm.sock" ] && [ -s "$work/nginx.pid" ]; do sleep 0.05; done
echo "listens on http://127.0.0.1:$PORT/"
wait
